import type { ScriptMark } from "../api/types";
import { useT } from "../i18n";
import { useReason } from "../i18n/reason";

/** What is wrong in a script, in the order of its lines. */
export function PrimingMarks({ marks, onGo }: { marks: ScriptMark[]; onGo?: (line: number) => void }) {
  const t = useT();
  const reason = useReason();
  if (marks.length === 0) return null;
  return (
    <ul className="script-marks" aria-label={t("script.marks")}>
      {marks.map((mark, index) => (
        <li key={index} className={`note ${mark.level === "error" ? "bad" : "warn"}`}>
          <div className="grow">
            <p>
              {mark.line > 0 && onGo && (
                <button type="button" className="link" onClick={() => onGo(mark.line)}>
                  {t("script.line", { n: mark.line })}
                </button>
              )}
              {mark.line > 0 && !onGo && <strong>{t("script.line", { n: mark.line })}</strong>} {reason(mark.reason)}
            </p>
            {mark.mend && <p className="muted">{reason(mark.mend)}</p>}
          </div>
        </li>
      ))}
    </ul>
  );
}
