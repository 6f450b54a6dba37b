import type { Token, Tokens } from "marked";
import { Fragment, Suspense, createContext, lazy, memo, useContext, useId, useMemo, type ReactNode } from "react";
import { useT } from "../i18n";
import { CodeBlock } from "./CodeBlock";
import { asWritten, type FootnoteToken, type LexedBlock, type MathsToken, type PlainToken } from "./lex";
import { Maths } from "./Maths";
import { useBlocks, useShown } from "./useBlocks";

const Diagram = lazy(() => import("./Diagram"));

/**
 * Renders Markdown as React elements. No HTML string is ever made: raw HTML in the text is shown as text, addresses are
 * checked, and images from other hosts become links, so nothing a model writes can run or call home.
 */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const blocks = useBlocks(text);
  const notes = useNotes(blocks);
  return (
    <Notes value={notes}>
      <div className="prose">
        {blocks.map(({ token }, index) => (
          <Block key={index} raw={token.raw} token={token} />
        ))}
        <Footnotes />
      </div>
    </Notes>
  );
});

/** Shows a text as it was written. */
export const Plain = memo(function Plain({ text }: { text: string }) {
  const shown = useShown(useMemo(() => asWritten(text), [text]));
  return (
    <div>
      {shown.map(({ token }, index) => (
        <Block key={index} raw={token.raw} token={token} />
      ))}
    </div>
  );
});

interface NoteList {
  prefix: string;
  notes: FootnoteToken[];
}

const NoteContext = createContext<NoteList>({ prefix: "", notes: [] });
const Notes = NoteContext.Provider;

/** Collects the footnotes of a text; they stand at its end, wherever they were written. */
function useNotes(blocks: LexedBlock[]): NoteList {
  const prefix = useId();
  const found = blocks.flatMap(({ token }) => (token.type === "footnote" ? [token as FootnoteToken] : []));
  const key = found.map(({ raw }) => raw).join("");
  return useMemo(() => ({ prefix, notes: found }), [key, prefix]);
}

// The address after `#` names a page of ours, so that a footnote is gone to by script.
const goTo = (id: string) => {
  const target = document.getElementById(id);
  target?.scrollIntoView({ block: "center" });
  target?.focus({ preventScroll: true });
};

function FootnoteRef({ token }: { token: FootnoteToken }) {
  const t = useT();
  const { prefix, notes } = useContext(NoteContext);
  const at = notes.findIndex(({ label }) => label === token.label);
  if (at < 0) return <>{token.raw}</>;
  return (
    <sup>
      <button type="button" className="footnote-ref" id={`${prefix}ref-${at}`} aria-label={t("footnote", { n: at + 1 })} onClick={() => goTo(`${prefix}note-${at}`)}>
        {at + 1}
      </button>
    </sup>
  );
}

function Footnotes() {
  const t = useT();
  const { prefix, notes } = useContext(NoteContext);
  if (notes.length === 0) return null;
  return (
    <ol className="footnotes" aria-label={t("footnotes")}>
      {notes.map((note, at) => (
        <li key={at} id={`${prefix}note-${at}`} tabIndex={-1}>
          {inline(note.tokens)}{" "}
          <button type="button" className="footnote-ref" aria-label={t("footnote.back")} onClick={() => goTo(`${prefix}ref-${at}`)}>
            ↩
          </button>
        </li>
      ))}
    </ol>
  );
}

// While an answer streams only its last block changes; `raw` tells the finished ones apart.
const Block = memo(
  function Block({ token }: { raw: string; token: Token }) {
    return <>{renderBlock(token)}</>;
  },
  (before, after) => before.raw === after.raw,
);

function renderBlock(token: Token): ReactNode {
  switch (token.type) {
    case "heading":
      return renderHeading(token as Tokens.Heading);
    case "paragraph":
      return <p>{inline((token as Tokens.Paragraph).tokens)}</p>;
    case "code":
      return renderCode(token as Tokens.Code);
    case "maths":
      return <Maths tex={(token as unknown as MathsToken).tex} isBlock />;
    case "html":
      return /^(\s*<br\s*\/?>)+\s*$/i.test(token.raw) ? <br /> : <p className="raw">{token.raw}</p>;
    case "blockquote":
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "list":
      return renderList(token as Tokens.List);
    case "table":
      return renderTable(token as Tokens.Table);
    case "hr":
      return <hr />;
    case "space":
    case "def":
    case "footnote":
      return null;
    case "plain":
      return <p className={(token as unknown as PlainToken).isRest ? "plain rest" : "plain"}>{token.raw}</p>;
    case "text":
      return (token as Tokens.Text).tokens ? inline((token as Tokens.Text).tokens) : (token as Tokens.Text).text;
    default:
      return <p className="raw">{token.raw}</p>;
  }
}

function renderCode(token: Tokens.Code): ReactNode {
  const language = (token.lang ?? "").split(/\s/)[0] ?? "";
  const block = <CodeBlock code={token.text} language={language} />;
  return language === "mermaid" ? (
    <Suspense fallback={block}>
      <Diagram code={token.text} />
    </Suspense>
  ) : (
    block
  );
}

function blocks(tokens: Token[]): ReactNode {
  return tokens.map((token, index) => <Fragment key={index}>{renderBlock(token)}</Fragment>);
}

function renderHeading(token: Tokens.Heading): ReactNode {
  const Tag = (["h3", "h3", "h4", "h5", "h6", "h6"] as const)[token.depth - 1] ?? "h6";
  return <Tag className={`depth-${token.depth}`}>{inline(token.tokens)}</Tag>;
}

function renderList(token: Tokens.List): ReactNode {
  const items = token.items.map((item, index) => (
    <li key={index} className={item.task ? "task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked === true} readOnly disabled aria-label={item.text} />}
      {blocks(item.tokens.filter((inner) => inner.type !== "checkbox"))}
    </li>
  ));
  return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function renderTable(token: Tokens.Table): ReactNode {
  const align = (cell: Tokens.TableCell) => (cell.align ? `align-${cell.align}` : undefined);
  return (
    <div className="table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index} className={align(cell)}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} className={align(cell)}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: Token[] | undefined): ReactNode {
  return tokens?.map((token, index) => <Fragment key={index}>{renderInline(token)}</Fragment>);
}

function renderInline(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em>{inline((token as Tokens.Em).tokens)}</em>;
    case "del":
      return <del>{inline((token as Tokens.Del).tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "html":
      return /^<br\s*\/?>$/i.test(token.raw) ? <br /> : token.raw;
    case "maths":
      return <Maths tex={(token as unknown as MathsToken).tex} isBlock={(token as unknown as MathsToken).isBlock} />;
    case "footnoteRef":
      return <FootnoteRef token={token as FootnoteToken} />;
    case "link":
      return renderLink((token as Tokens.Link).href, inline((token as Tokens.Link).tokens), (token as Tokens.Link).text);
    case "image":
      return renderImage(token as Tokens.Image);
    case "text":
      return (token as Tokens.Text).tokens ? inline((token as Tokens.Text).tokens) : unescape((token as Tokens.Text).text);
    case "escape":
      return (token as Tokens.Escape).text;
    default:
      return token.raw;
  }
}

function renderLink(href: string, content: ReactNode, text = ""): ReactNode {
  if (href.startsWith("/api/files/")) return <FileLink href={href}>{text === href ? undefined : content}</FileLink>;
  if (!/^(https?:|mailto:)/i.test(href)) return <span title={href}>{content}</span>;
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {content}
    </a>
  );
}

/** A kept file; an address that no one can read is not its name. */
function FileLink({ href, children }: { href: string; children: ReactNode }) {
  const t = useT();
  return (
    <a href={href} download="">
      {children ?? t("file")}
    </a>
  );
}

function renderImage(token: Tokens.Image): ReactNode {
  if (/^(data:image\/|\/api\/files\/)/.test(token.href)) return <img src={token.href} alt={token.text} loading="lazy" />;
  return renderLink(token.href, token.text || token.href);
}

const ENTITIES: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };

function unescape(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);
}
