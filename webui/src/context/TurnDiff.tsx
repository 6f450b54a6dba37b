import { useState } from "react";
import { api } from "../api/api";
import type { ContextDiff, ContextInfo } from "../api/types";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Diff } from "../ui/Diff";
import { Empty, Show } from "../ui/State";

const PRESENT = "";

/** What changed in the prompt between two turns. */
export function TurnDiff({ threadId, turns }: { threadId: string; turns: ContextInfo["turns"] }) {
  const t = useT();
  const format = useFormat();
  const [from, setFrom] = useState(String(turns.at(-2)?.turn ?? turns[0]?.turn ?? 1));
  const [to, setTo] = useState(PRESENT);
  const diff = useLoad(
    () => api.contextDiff(threadId, Number(from), to === PRESENT ? undefined : Number(to)),
    `${threadId} ${from} ${to}`,
  );
  if (turns.length === 0) return <Empty icon="layers" title={t("context.noTurns")} />;
  const options = turns.map((turn) => (
    <option key={turn.turn} value={turn.turn}>
      {turn.turn} · {format.time(turn.at)} · {turn.text.slice(0, 40)}
    </option>
  ));
  return (
    <>
      <div className="turns">
        <label className="field">
          <span>{t("context.from")}</span>
          <select className="input" value={from} onChange={(event) => setFrom(event.target.value)}>
            {options}
          </select>
        </label>
        <label className="field">
          <span>{t("context.to")}</span>
          <select className="input" value={to} onChange={(event) => setTo(event.target.value)}>
            {options}
            <option value={PRESENT}>{t("context.present")}</option>
          </select>
        </label>
      </div>
      <Cache turn={turns.find((turn) => String(turn.turn) === to) ?? turns.at(-1)} />
      <Show from={diff}>{(data) => <Changes diff={data} />}</Show>
    </>
  );
}

/** What the provider had cached of a turn's request, and what kept it from finding more. */
function Cache({ turn }: { turn: ContextInfo["turns"][number] | undefined }) {
  const t = useT();
  if (!turn) return null;
  return (
    <p className="note">
      {turn.inputTokens !== null && t("context.cached", { n: turn.cachedTokens ?? 0, all: turn.inputTokens })}{" "}
      {turn.brokenBy === "" && t("context.grew")}
      {turn.brokenBy && t("context.brokenBy", { what: turn.brokenBy })}
    </p>
  );
}

function Changes({ diff }: { diff: ContextDiff }) {
  const t = useT();
  const changed = diff.sections.filter((section) => section.change !== "same");
  const share = diff.totalBytes ? Math.round((diff.unchangedBytes / diff.totalBytes) * 1000) / 10 : 100;
  return (
    <>
      <p className="note">{t("context.unchanged", { n: share })}</p>
      {changed.length === 0 && <p className="faint">{t("context.same")}</p>}
      {changed.map((section) => (
        <section key={section.name} className="changed">
          <h3>
            {section.name} <span className="badge accent">{t(`change.${section.change as "changed"}`)}</span>
          </h3>
          {section.diff ? <Diff text={section.diff} /> : <p className="faint">{t("context.noText")}</p>}
        </section>
      ))}
    </>
  );
}
