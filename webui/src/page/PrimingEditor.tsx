import { useEffect, useRef, useState } from "react";
import { api } from "../api/api";
import type { ScriptMark, ScriptReading, ScriptView } from "../api/types";
import { useT } from "../i18n";
import { Problem } from "../ui/State";
import { DocumentActions, DocumentNotes } from "./DocumentNotes";
import { PrimingConversation } from "./PrimingConversation";
import { PrimingMarks } from "./PrimingMarks";
import type { OpenDocument } from "./useDocument";

const PAUSE_MS = 150;

/** Reads the text as a script while it is written; an answer to an older text is dropped. */
function useReading(text: string, first: ScriptView): { reading: ScriptReading; isChecked: boolean } {
  const [answer, setAnswer] = useState<{ text: string; reading: ScriptReading }>({ text: first.text, reading: first });
  useEffect(() => {
    if (answer.text === text) return;
    let isStale = false;
    const timer = window.setTimeout(() => {
      api.checkScript(text).then(
        (reading) => !isStale && setAnswer({ text, reading }),
        // Without the server there is no check; saving says what is wrong with that.
        () => undefined,
      );
    }, PAUSE_MS);
    return () => {
      isStale = true;
      window.clearTimeout(timer);
    };
  }, [text, answer.text]);
  return { reading: answer.reading, isChecked: answer.text === text };
}

interface Props {
  script: ScriptView;
  memberName: string;
  document: OpenDocument;
}

/** Edits a script with its mistakes marked while it is written. */
export function PrimingEditor({ script, memberName, document }: Props) {
  const t = useT();
  const { text, setText } = document;
  const [problem, setProblem] = useState<Error>();
  const { reading, isChecked } = useReading(text, script);
  const box = useRef<HTMLTextAreaElement>(null);
  const fix = async () => {
    setProblem(undefined);
    try {
      setText((await api.fixScript(text)).text);
    } catch (error) {
      setProblem(error as Error);
    }
  };

  return (
    <section className="editor" aria-label={script.scriptRef}>
      <div className="editor-bar">
        <PrimingStatus marks={reading.marks} isChecked={isChecked} />
        {document.isChanged && <span className="badge warn">{t("unsaved")}</span>}
        <span className="grow" />
        {isChecked && reading.marks.some((mark) => mark.canFix) && (
          <button type="button" className="button small" onClick={() => void fix()}>
            {t("script.fix")}
          </button>
        )}
        <DocumentActions document={document} name={script.scriptRef} />
      </div>
      {problem && <Problem error={problem} />}
      <DocumentNotes document={document} />
      <div className="script-edit">
        <div className="script-text">
          <Gutter marks={reading.marks} box={box} />
          <textarea
            ref={box}
            className="input mono editor-text"
            aria-label={t("script.text")}
            wrap="off"
            value={text}
            spellCheck={false}
            onChange={(event) => setText(event.target.value)}
          />
        </div>
        <div className="script-side">
          <PrimingMarks marks={reading.marks} onGo={(line) => goToLine(box.current, line)} />
          {reading.messages.length > 0 && (
            <PrimingConversation messages={reading.messages} memberName={memberName} />
          )}
        </div>
      </div>
    </section>
  );
}

function PrimingStatus({ marks, isChecked }: { marks: ScriptMark[]; isChecked: boolean }) {
  const t = useT();
  const errors = marks.filter((mark) => mark.level === "error").length;
  const tone = errors > 0 ? "bad" : marks.length > 0 ? "warn" : "good";
  const words = errors > 0 ? t("script.errors", { n: errors }) : marks.length > 0 ? t("script.warnings", { n: marks.length }) : t("script.good");
  return (
    <span className={`badge ${isChecked ? tone : ""}`} role="status">
      {isChecked ? words : t("script.checking")}
    </span>
  );
}

/** Marks the lines that have mistakes, beside the text and scrolled with it. */
function Gutter({ marks, box }: { marks: ScriptMark[]; box: React.RefObject<HTMLTextAreaElement | null> }) {
  const [top, setTop] = useState(0);
  useEffect(() => {
    const text = box.current;
    if (!text) return;
    const follow = () => setTop(text.scrollTop);
    text.addEventListener("scroll", follow, { passive: true });
    return () => text.removeEventListener("scroll", follow);
  }, [box]);
  const lines = new Map<number, ScriptMark["level"]>();
  for (const mark of marks) if (mark.line > 0 && lines.get(mark.line) !== "error") lines.set(mark.line, mark.level);
  return (
    <div className="script-gutter" aria-hidden="true">
      {[...lines].map(([line, level]) => (
        <span key={line} className={level} style={{ top: `calc(${line - 1} * var(--script-line) - ${top}px)` }}>
          {line}
        </span>
      ))}
    </div>
  );
}

function goToLine(text: HTMLTextAreaElement | null, line: number): void {
  if (!text) return;
  const lines = text.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  text.focus();
  text.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  const height = parseFloat(getComputedStyle(text).lineHeight);
  text.scrollTop = Math.max(0, (line - 4) * height);
}
