import { Lexer, type MarkedOptions, type Token, type Tokens } from "marked";

/** A block of the text, and how many tokens it holds. */
export interface LexedBlock {
  token: Token;
  size: number;
}

export interface MathsToken {
  type: "maths";
  raw: string;
  tex: string;
  isBlock: boolean;
}

export interface FootnoteToken {
  type: "footnote" | "footnoteRef";
  raw: string;
  label: string;
  tokens: Token[];
}

/** Text that is shown as it was written; `isRest` when it goes on where the block before it ends. */
export interface PlainToken {
  type: "plain";
  raw: string;
  isRest: boolean;
}

// A block of more is shown as it was written: drawing it would hold the page up.
const BLOCK_LIMIT = 3000;
const DEPTH_LIMIT = 40;
const COUNT_LIMIT = 3000;

/** Takes Markdown apart. Throws on what is nested too deep to be read. */
export function lex(text: string): LexedBlock[] {
  const tokens = Lexer.lex(text, options());
  const rest = tokens.splice(COUNT_LIMIT).map(({ raw }) => raw);
  const blocks = tokens.flatMap((token) => {
    const size = count(token, 0);
    return size < BLOCK_LIMIT || token.type === "code" ? [{ token, size }] : asWritten(token.raw);
  });
  return [...blocks, ...asWritten(rest.join(""))];
}

// As much as is laid out in a dozen milliseconds, to the end of a line if there is one.
const PIECE = /[^]{1,4000}(?:\n|$)|[^]{1,4000}/gu;
const TOKEN_CHARACTERS = 8;

/** Gives a text unread, in pieces: the browser lays out a block in one go, however long it is. */
export function asWritten(text: string): LexedBlock[] {
  return (text.match(PIECE) ?? []).map((raw, at) => {
    const token: PlainToken = { type: "plain", raw, isRest: at > 0 };
    return { token, size: Math.ceil(raw.length / TOKEN_CHARACTERS) };
  });
}

/** Counts the tokens inside one; what is nested too deep counts as too many. */
function count(token: Token, depth: number): number {
  if (depth > DEPTH_LIMIT) return BLOCK_LIMIT;
  let size = 1;
  const inner = token as { tokens?: Token[]; items?: Token[]; header?: Tokens.TableCell[]; rows?: Tokens.TableCell[][] };
  for (const one of [...(inner.tokens ?? []), ...(inner.items ?? [])]) size += count(one, depth + 1);
  for (const cell of [...(inner.header ?? []), ...(inner.rows ?? []).flat()]) {
    size += 1;
    for (const one of cell.tokens) size += count(one, depth + 1);
  }
  return size;
}

/** Tells whether a text could take long to be read: mark upon mark, or lists within lists. */
export function isHeavy(text: string): boolean {
  if (text.length > 200_000) return true;
  return text.length > 1500 && ((text.match(MARKS)?.length ?? 0) > 2500 || /^[ >]{60}/m.test(text) || /([*_`[<|~!])\1{60}/.test(text));
}

const MARKS = /[[\]*_`<>|~!&\\@$\n-]/g;

/** The rules beside those of GitHub: maths, footnotes, and emphasis in Chinese, Japanese and Korean. */
function options(): MarkedOptions {
  return {
    gfm: true,
    breaks: true,
    extensions: {
      block: [maths, footnote],
      inline: [maths, footnoteRef, emphasis],
      startInline: [(src: string) => src.indexOf("$")],
      startBlock: [],
      renderers: {},
      childTokens: {},
    },
  } as unknown as MarkedOptions;
}

type Rule = (this: { lexer: Lexer }, src: string, before?: Token[]) => unknown;

const DISPLAY = [/^\$\$([^`]+?)\$\$/, /^\\\[([^`]+?)\\\]/];
// As in pandoc: no space inside the signs, and neither digit nor letter behind them.
const INLINE = [/^\$(?![\s$])((?:\\[^\n]|[^\\$`\n])+?)(?<!\s)\$(?![\p{L}\d$])/u, /^\\\(([^`\n]+?)\\\)/];
const MONEY = /^[\d.,]+(?:[kKmMbB]\b)?(?:$|[\s/)–-])/;
const SIGN = /[\\^_={}<>+*|]/;

/** Reads maths between $, $$, \( and \[. Two prices in a sentence are none. */
const maths: Rule = function (src) {
  if (src[0] !== "$" && src[0] !== "\\") return undefined;
  for (const [rules, isBlock] of [[DISPLAY, true], [INLINE, false]] as const) {
    for (const rule of rules) {
      const found = rule.exec(src);
      const tex = found?.[1]?.trim();
      if (!found || !tex || (!isBlock && src[0] === "$" && MONEY.test(tex) && !SIGN.test(tex) && /\s/.test(tex))) continue;
      return { type: "maths", raw: found[0], tex, isBlock };
    }
  }
  return undefined;
};

const footnote: Rule = function (src) {
  const found = /^\[\^([^\]\s]{1,80})\]:[ \t]*([^\n]*(?:\n(?:[ \t]+\S[^\n]*|(?!\[\^)[^\s>#|`-][^\n]*))*)(?:\n|$)/.exec(src);
  if (!found) return undefined;
  const text = (found[2] ?? "").replace(/\n[ \t]+/g, "\n");
  return { type: "footnote", raw: found[0], label: found[1], tokens: this.lexer.inline(text) };
};

const footnoteRef: Rule = (src) => {
  const found = /^\[\^([^\]\s]{1,80})\]/.exec(src);
  return found ? { type: "footnoteRef", raw: found[0], label: found[1], tokens: [] } : undefined;
};

const IDEOGRAM = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const PUNCTUATION = /[\p{P}\p{S}]/u;

/** Reads emphasis that begins or ends at a quote beside an ideogram, where CommonMark expects the space of other scripts. */
const emphasis: Rule = function (src, before) {
  const found = /^(\*\*|\*)(?![\s*])((?:[^*\\\n]|\\.)+?)(?<!\s)\1(?!\*)/.exec(src);
  const text = found?.[2];
  if (!found || !text) return undefined;
  const opens = PUNCTUATION.test(text[0] ?? "") && IDEOGRAM.test(before?.at(-1)?.raw.at(-1) ?? "");
  const closes = PUNCTUATION.test(text.at(-1) ?? "") && IDEOGRAM.test(src[found[0].length] ?? "");
  if (!opens && !closes) return undefined;
  return { type: found[1] === "**" ? "strong" : "em", raw: found[0], text, tokens: this.lexer.inlineTokens(text, []) };
};
