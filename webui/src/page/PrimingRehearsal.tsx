import { useState } from "react";
import { api } from "../api/api";
import type { Rehearsal, RehearsalWish } from "../api/types";
import type { Loaded } from "../api/use";
import { useT, type Word } from "../i18n";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reason";
import { Icon } from "../ui/Icon";
import { Empty, Loading, Problem } from "../ui/State";
import { PrimingTurn } from "./PrimingTurn";

const TOOLS = ["script", "sandbox", "live"] as const;
const isTools = (name: string): name is RehearsalWish["tools"] => (TOOLS as readonly string[]).includes(name);
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
  isChanged: boolean;
  /** Returns whether what stands in the editor stands on disk too. */
  saveFirst: () => Promise<boolean>;
}

/** Says the script's user turns again, and sets what was recorded beside what was said and done now. */
export function PrimingRehearsal({ reference, member, last, isChanged, saveFirst }: Props) {
  const t = useT();
  const [report, setReport] = useState<Rehearsal>();
  const [problem, setProblem] = useState<Error>();
  const [isRunning, setRunning] = useState(false);
  const shown = report ?? last.data;

  const run = async (wish: RehearsalWish) => {
    setRunning(true);
    setProblem(undefined);
    try {
      if (!(await saveFirst())) return;
      setReport(await api.rehearse(wish));
      void last.reload();
    } catch (error) {
      setProblem(error as Error);
    } finally {
      setRunning(false);
    }
  };

  return (
    <section className="rehearsal-view" aria-label={t("rehearsal.title")}>
      <Wishes onRun={(wish) => void run({ ref: reference, member, ...wish })} isRunning={isRunning} isChanged={isChanged} />
      {(problem ?? last.error) && <Problem error={(problem ?? last.error) as Error} />}
      {isRunning && <Loading />}
      {!isRunning && shown && <Report report={shown} />}
      {!isRunning && !shown && !last.loading && !problem && !last.error && <Empty icon="retry" title={t("rehearsal.none")} />}
    </section>
  );
}

interface WishesProps {
  onRun: (wish: Pick<RehearsalWish, "tools" | "model" | "forced">) => void;
  isRunning: boolean;
  isChanged: boolean;
}

function Wishes({ onRun, isRunning, isChanged }: WishesProps) {
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
        {t(isRunning ? "rehearsal.running" : isChanged ? "rehearsal.run.save" : "rehearsal.run")}
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
  const t = useT();
  const reason = useReason();
  const format = useFormat();
  return (
    <div className="stack">
      <p className="row wrap">
        <RehearsalVerdict report={report} />
        <span className="faint numeric">{format.duration(report.ms)}</span>
        {report.costUsd !== null && <span className="faint numeric">{format.money(report.costUsd)}</span>}
        <span className="faint mono">{[report.member, report.model].filter(Boolean).join(" · ")}</span>
        {isTools(report.tools) && <span className="faint">{t("rehearsal.tools.were", { how: t(`rehearsal.tools.${report.tools}`) })}</span>}
      </p>
      {report.reason && <p className="note warn">{reason(report.reason)}</p>}
      {report.turns.map((turn, index) => (
        <PrimingTurn key={index} turn={turn} number={index + 1} />
      ))}
    </div>
  );
}
