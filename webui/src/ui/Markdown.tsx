import { Lexer, type Token, type Tokens } from "marked";
import { Fragment, memo, type ReactNode } from "react";
import { CodeBlock } from "./CodeBlock";

/**
 * Renders Markdown as React elements. No HTML string is ever made: raw HTML in the text is shown as text, addresses are
 * checked, and images from other hosts become links, so nothing a model writes can run or call home.
 */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const tokens = Lexer.lex(text, { gfm: true, breaks: true });
  return (
    <div className="prose">
      {tokens.map((token, index) => (
        <Block key={index} raw={token.raw} token={token} />
      ))}
    </div>
  );
});

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
      return <CodeBlock code={(token as Tokens.Code).text} language={((token as Tokens.Code).lang ?? "").split(/\s/)[0] ?? ""} />;
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
      return null;
    case "text":
      return (token as Tokens.Text).tokens ? inline((token as Tokens.Text).tokens) : (token as Tokens.Text).text;
    default:
      return <p className="raw">{token.raw}</p>;
  }
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
    case "link":
      return renderLink((token as Tokens.Link).href, inline((token as Tokens.Link).tokens));
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

function renderLink(href: string, content: ReactNode): ReactNode {
  if (!/^(https?:|mailto:)/i.test(href)) return <span title={href}>{content}</span>;
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {content}
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
