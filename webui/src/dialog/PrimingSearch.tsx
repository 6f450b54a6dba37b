import { useEffect, useRef, useState } from "react";
import { api } from "../api/api";
import type { Script, ScriptList } from "../api/types";
import { useT } from "../i18n";
import { useReason } from "../i18n/reason";
import { Problem } from "../ui/State";

interface Props {
  member: string;
  onChoose: (script: Script) => void;
  onClose: () => void;
}

/** Searches the disk at each keystroke; an answer to older words than the last is dropped. */
export function PrimingSearch({ member, onChoose, onClose }: Props) {
  const t = useT();
  const [words, setWords] = useState("");
  const [answer, setAnswer] = useState<ScriptList>();
  const found = answer?.scripts;
  const [problem, setProblem] = useState<Error>();
  const turn = useRef(0);

  useEffect(() => {
    const mine = ++turn.current;
    const text = words.trim();
    if (!text) {
      setAnswer(undefined);
      return;
    }
    api.searchPriming(member, text).then(
      (told) => {
        if (mine !== turn.current) return;
        setProblem(undefined);
        setAnswer(told);
      },
      (error: unknown) => {
        if (mine === turn.current) setProblem(error as Error);
      },
    );
  }, [member, words]);

  return (
    <div
      className="priming-search"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        // Esc closes the search first; a second one closes the dialog.
        event.preventDefault();
        event.stopPropagation();
        onClose();
      }}
    >
      <input
        className="input"
        type="search"
        autoFocus
        aria-label={t("priming.search")}
        placeholder={t("priming.search")}
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => {
          const only = found?.[0];
          if (event.key !== "Enter") return;
          event.preventDefault();
          if (only) onChoose(only);
        }}
      />
      {problem && <Problem error={problem} />}
      <ul aria-live="polite">
        {found?.map((script) => (
          <li key={script.scriptRef}>
            <div className="grow">
              <strong className="truncate">{script.title ?? script.scriptRef}</strong>
              <span className="faint mono truncate">{script.scriptRef}</span>
            </div>
            <button type="button" className="button small" onClick={() => onChoose(script)} aria-label={`${t("choose")} ${script.scriptRef}`}>
              {t("choose")}
            </button>
          </li>
        ))}
        {found?.length === 0 && <li className="faint">{t("priming.search.none")}</li>}
      </ul>
      <BrokenNote problems={answer?.problems ?? []} />
    </div>
  );
}

/** Says which files cannot be offered, and why. */
export function BrokenNote({ problems }: { problems: string[] }) {
  const t = useT();
  const reason = useReason();
  if (problems.length === 0) return null;
  return (
    <details className="note warn fold">
      <summary>{t("script.broken.title", { n: problems.length })}</summary>
      <ul>
        {problems.map((problem) => (
          <li key={problem}>{reason(problem)}</li>
        ))}
      </ul>
    </details>
  );
}
