import { useState } from "react";
import { api } from "../api/api";
import type { Rehearsal, RehearsalPiece, RehearsalTurn, RehearsalWish } from "../api/types";
import type { Loaded } from "../api/use";
import { useT, type Word } from "../i18n";
import { useFormat } from "../i18n/format";
import { Icon } from "../ui/Icon";
import { Empty, Loading, Problem } from "../ui/State";

const TOOLS = ["script", "sandbox", "live"] as const;
const VERDICTS: Record<Rehearsal["verdict"], { word: Word; tone: string }> = {
  same: { word: "rehearsal.same", tone: "good" },
  differs: { word: "rehearsal.differs", tone: "bad" },
  broken: { word: "rehearsal.broken", tone: "bad" },
  unusable: { word: "rehearsal.unusable", tone: "warn" },
};

interface Props {
  reference: string;
  member: string;
  last: Loaded<Rehearsal | null>;
}

/** Says the script's user turns again, and sets what was recorded beside what was said and done now. */
export function PrimingRehearsal({ reference, member, last }: Props) {
  const t = useT();
  const [report, setReport] = useState<Rehearsal>();
  const [problem, setProblem] = useState<Error>();
  const [isRunning, setRunning] = useState(false);
  const shown = report ?? last.data;

  const run = async (wish: RehearsalWish) => {
    setRunning(true);
    setProblem(undefined);
    try {
      setReport(await api.rehearse(wish));
      void last.reload();
    } catch (error) {
      setProblem(error as Error);
    }
    setRunning(false);
  };

  return (
    <section className="rehearsal-view" aria-label={t("rehearsal.title")}>
      <Wishes onRun={(wish) => void run({ ref: reference, member, ...wish })} isRunning={isRunning} />
      {(problem ?? last.error) && <Problem error={(problem ?? last.error) as Error} />}
      {isRunning && <Loading />}
      {!isRunning && shown && <Report report={shown} />}
      {!isRunning && !shown && !last.loading && !problem && !last.error && <Empty icon="retry" title={t("rehearsal.none")} />}
    </section>
  );
}

function Wishes({ onRun, isRunning }: { onRun: (wish: Pick<RehearsalWish, "tools" | "model" | "forced">) => void; isRunning: boolean }) {
  const t = useT();
  const [tools, setTools] = useState<RehearsalWish["tools"]>("script");
  const [isScripted, setScripted] = useState(false);
  const [isForced, setForced] = useState(false);
  return (
    <form
      className="rehearsal-wishes"
      onSubmit={(event) => {
        event.preventDefault();
        onRun({ tools, model: isScripted ? "script" : null, forced: isForced });
      }}
    >
      <label className="field">
        <span>{t("rehearsal.tools")}</span>
        <select className="input" value={tools} onChange={(event) => setTools(event.target.value as RehearsalWish["tools"])}>
          {TOOLS.map((one) => (
            <option key={one} value={one}>
              {t(`rehearsal.tools.${one}`)}
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        <span>{t("rehearsal.model")}</span>
        <select className="input" value={isScripted ? "script" : ""} onChange={(event) => setScripted(event.target.value === "script")}>
          <option value="">{t("rehearsal.model.own")}</option>
          <option value="script">{t("rehearsal.model.script")}</option>
        </select>
      </label>
      <label className="check">
        <input type="checkbox" checked={isForced} onChange={(event) => setForced(event.target.checked)} />
        <span>{t("rehearsal.forced")}</span>
      </label>
      <button type="submit" className="button primary" disabled={isRunning}>
        <Icon name="retry" tiny />
        {t("rehearsal.run")}
      </button>
      {tools === "live" && <p className="note warn">{t("rehearsal.live")}</p>}
    </form>
  );
}

/** How a rehearsal ended, and when it was. */
export function RehearsalVerdict({ report }: { report: Rehearsal }) {
  const t = useT();
  const format = useFormat();
  const verdict = VERDICTS[report.verdict];
  return (
    <>
      <span className={`badge ${verdict.tone}`}>{t(verdict.word)}</span> <span className="faint">{format.full(report.startedAt)}</span>
    </>
  );
}

function Report({ report }: { report: Rehearsal }) {
  const format = useFormat();
  return (
    <div className="stack">
      <p className="row wrap">
        <RehearsalVerdict report={report} />
        <span className="faint numeric">{format.duration(report.ms)}</span>
        {report.costUsd !== null && <span className="faint numeric">{format.money(report.costUsd)}</span>}
        <span className="faint mono">{[report.member, report.model, report.tools].filter(Boolean).join(" · ")}</span>
      </p>
      {report.reason && <p className="note warn">{report.reason}</p>}
      {report.turns.map((turn, index) => (
        <Turn key={index} turn={turn} number={index + 1} />
      ))}
    </div>
  );
}

function Turn({ turn, number }: { turn: RehearsalTurn; number: number }) {
  const t = useT();
  const isSame = turn.deviations.length === 0 && !turn.stopped;
  return (
    <details className="card rehearsal-turn" open={!isSame}>
      <summary className="row">
        <strong className="truncate grow">
          {number}. {turn.said}
        </strong>
        <span className={`badge ${isSame ? "good" : "bad"}`}>{isSame ? t("rehearsal.same") : t("rehearsal.deviations", { n: turn.deviations.length })}</span>
      </summary>
      <div className="rehearsal-sides">
        <Side title={t("rehearsal.recorded")} pieces={turn.recorded} marked={turn.deviations.map((one) => one.recorded)} />
        <Side title={t("rehearsal.new")} pieces={turn.new} marked={turn.deviations.map((one) => one.new)} />
      </div>
      {turn.stopped && <p className="note bad">{turn.stopped}</p>}
      {turn.deviations.length > 0 && (
        <ul className="rehearsal-why">
          {turn.deviations.map((one, index) => (
            <li key={index}>
              <span className="badge bad">{one.kind}</span> {one.reason}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

function Side({ title, pieces, marked }: { title: string; pieces: RehearsalPiece[]; marked: (RehearsalPiece | null | undefined)[] }) {
  const t = useT();
  const differing = new Set(marked.filter(Boolean).map((piece) => JSON.stringify(piece)));
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {pieces.length === 0 && <p className="faint">{t("rehearsal.nothing")}</p>}
      <ol>
        {pieces.map((piece, index) => {
          const differs = differing.has(JSON.stringify(piece));
          return (
            <li key={index} className={differs ? "differs" : ""}>
              <p className="rehearsal-kind">
                {differs && <Icon name="alert" tiny />}
                {t(`piece.${piece.kind}`)} {piece.name && <span className="mono">{piece.name}</span>}
              </p>
              <pre tabIndex={0}>{write(piece)}</pre>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function write(piece: RehearsalPiece): string {
  if (piece.text) return piece.text;
  return piece.value === undefined || piece.value === null ? "" : JSON.stringify(piece.value, null, 2);
}
