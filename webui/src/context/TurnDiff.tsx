import { useState } from "react";
import { api } from "../api/api";
import type { ContextDiff, KnownTurn } from "../api/types";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Diff } from "../ui/Diff";
import { Show } from "../ui/State";
import { sayWhat, useTurnName } from "./TurnView";

/** What changed in what the model read between two turns, in its words. */
export function TurnDiff({ threadId, turns }: { threadId: string; turns: KnownTurn[] }) {
  const t = useT();
  const name = useTurnName();
  const [from, setFrom] = useState(turns.at(-2)?.turn ?? 1);
  const [to, setTo] = useState(turns.length);
  const diff = useLoad(() => api.contextDiff(threadId, from, to), `${threadId} ${from} ${to}`);
  const options = turns.map((turn) => (
    <option key={turn.turn} value={turn.turn}>
      {name(turn)}
    </option>
  ));
  return (
    <>
      <div className="turns">
        <label className="field">
          <span>{t("context.from")}</span>
          <select className="input" value={from} onChange={(event) => setFrom(Number(event.target.value))}>
            {options}
          </select>
        </label>
        <label className="field">
          <span>{t("context.to")}</span>
          <select className="input" value={to} onChange={(event) => setTo(Number(event.target.value))}>
            {options}
          </select>
        </label>
      </div>
      <Show from={diff}>{(data) => <Changes diff={data} />}</Show>
    </>
  );
}

function Changes({ diff }: { diff: ContextDiff }) {
  const t = useT();
  const format = useFormat();
  if (diff.changes.length === 0) return <p className="note">{t("context.same")}</p>;
  const share = `${Math.floor((diff.sameTokens / Math.max(1, diff.totalTokens)) * 1000) / 10} %`;
  const values = { share, n: format.number(diff.sameTokens), all: format.number(diff.totalTokens) };
  return (
    <>
      <p className="note">{t("context.unchanged", { ...values, what: sayWhat(t, diff.breaksIn) })}</p>
      {diff.changes.map((change) => (
        <section key={`${change.kind} ${change.name}`} className="changed">
          <h3>
            {sayWhat(t, `${change.kind} ${change.name}`)} <span className="badge accent">{t(`change.${change.change}`)}</span>{" "}
            <span className="faint numeric">
              {format.number(change.tokensBefore)} → {t("tokens", { n: format.number(change.tokensAfter) })}
            </span>
          </h3>
          <Diff text={change.diff} />
        </section>
      ))}
      {diff.untold > 0 && <p className="faint">{t("context.untold", { n: diff.untold })}</p>}
    </>
  );
}
