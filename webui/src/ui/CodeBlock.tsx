import { memo } from "react";
import { CopyButton } from "./CopyButton";
import { Diff } from "./Diff";
import { highlight } from "./highlight";

export const CodeBlock = memo(function CodeBlock({ code, language }: { code: string; language: string }) {
  return (
    <figure className={language ? "code" : "code bare"}>
      <figcaption>
        <span>{language}</span>
        <CopyButton text={code} />
      </figcaption>
      {language === "diff" ? (
        <Diff text={code} />
      ) : (
        <pre tabIndex={0}>
          <code>
            {highlight(code, language).map((piece, index) =>
              piece.className ? (
                <span key={index} className={piece.className}>
                  {piece.text}
                </span>
              ) : (
                piece.text
              ),
            )}
          </code>
        </pre>
      )}
    </figure>
  );
});
