/** Colours code with four classes that hold for nearly every language: comment, string, number, keyword. */
const PATTERN =
  /(\/\/[^\n]*|\/\*[\s\S]*?\*\/|(?<=^|\s)#[^\n]*|<!--[\s\S]*?-->)|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|(\b\d[\d_.]*(?:e[+-]?\d+)?\b)|\b(abstract|and|as|assert|async|await|begin|break|case|catch|class|const|continue|def|default|defer|del|do|done|elif|else|end|enum|esac|except|export|extends|fi|final|finally|fn|for|from|func|function|go|if|impl|implements|import|in|interface|is|lambda|let|loop|match|mod|module|mut|new|nil|not|null|None|of|or|package|pass|private|protected|pub|public|raise|return|select|self|static|struct|super|switch|then|this|throw|trait|try|type|undefined|union|use|using|var|void|where|while|with|yield|true|false|True|False)\b/gm;

const CLASSES = ["", "hl-comment", "hl-string", "hl-number", "hl-keyword"] as const;
const PLAIN = new Set(["", "text", "txt", "markdown", "md", "diff"]);
const LIMIT = 20_000;

export interface Piece {
  text: string;
  className: string;
}

export function highlight(code: string, language: string): Piece[] {
  if (PLAIN.has(language) || code.length > LIMIT) return [{ text: code, className: "" }];
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of code.matchAll(PATTERN)) {
    if (match.index > at) pieces.push({ text: code.slice(at, match.index), className: "" });
    const group = [1, 2, 3, 4].find((index) => match[index] !== undefined) ?? 0;
    pieces.push({ text: match[0], className: CLASSES[group] ?? "" });
    at = match.index + match[0].length;
  }
  if (at < code.length) pieces.push({ text: code.slice(at), className: "" });
  return pieces;
}
