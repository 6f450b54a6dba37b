import { useState } from "react";
import { api } from "../api/api";
import type { KnownTurn, TurnContext } from "../api/types";
import { useLoad } from "../api/use";
import { useT, type Translate } from "../i18n";
import { useFormat } from "../i18n/format";
import { Show } from "../ui/State";
import { ContextView } from "./ContextView";

/** What a turn is called: the words it answered, and which attempt at them it was. */
export function useTurnName(): (turn: KnownTurn) => string {
  const t = useT();
  const format = useFormat();
  return (turn) => {
    const words = turn.text.slice(0, 40) || t("context.noWords");
    const attempt = turn.attempts > 1 ? ` · ${t("context.attempt", { n: turn.attempt, all: turn.attempts })}` : "";
    return `${turn.turn} · ${format.short(turn.at)} · ${words}${attempt}`;
  };
}

/** Says what of a request changed: "section soul" is told as the page names it. */
export function sayWhat(t: Translate, what: string): string {
  const [kind = "", ...name] = what.split(" ");
  if (kind === "section" || kind === "tool" || kind === "message") return t(`context.what.${kind}`, { name: name.join(" ") });
  return kind === "model" || kind === "tools" || kind === "course" ? t(`context.what.${kind}`) : what;
}

interface Props {
  threadId: string;
  turns: KnownTurn[];
  first: number | undefined;
}

/** What the model read at each step of a turn. */
export function TurnView({ threadId, turns, first }: Props) {
  const t = useT();
  const name = useTurnName();
  const [turn, setTurn] = useState(first);
  const [step, setStep] = useState<number>();
  const read = useLoad(
    () => (turn === undefined ? new Promise<TurnContext>(() => {}) : api.turnContext(threadId, turn, step)),
    `${threadId} ${turn} ${step}`,
  );
  return (
    <>
      <label className="field">
        <span>{t("context.which")}</span>
        <select
          className="input"
          value={turn ?? ""}
          onChange={(event) => {
            setStep(undefined);
            setTurn(Number(event.target.value));
          }}
        >
          {turn === undefined && <option value="" />}
          {turns.map((one) => (
            <option key={one.turn} value={one.turn}>
              {name(one)}
            </option>
          ))}
        </select>
      </label>
      {turn !== undefined && (
        <Show from={read}>
          {(data) => (
            <>
              <Steps data={data} onStep={setStep} />
              <ContextView
                key={`${data.turn.turn} ${data.step}`}
                context={data.read}
                onEarlier={async (before) =>
                  (await api.turnContext(threadId, data.turn.turn, data.step, before)).read.history
                }
              />
            </>
          )}
        </Show>
      )}
    </>
  );
}

/** What each request of the turn cost, as its provider counted; a row opens what was read there. */
function Steps({ data, onStep }: { data: TurnContext; onStep: (step: number) => void }) {
  const t = useT();
  const format = useFormat();
  const count = (value: number | null) => (value === null ? "–" : format.number(value));
  const { brokenBy } = data.turn;
  const routed = data.steps.find((step, index) => step.route && index + 1 === data.step);
  return (
    <section className="steps" aria-label={t("context.steps")}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t("context.step")}</th>
            <th scope="col">{t("context.input")}</th>
            <th scope="col">{t("context.cached")}</th>
            <th scope="col">{t("context.output")}</th>
            <th scope="col">{t("context.cost")}</th>
            <th scope="col">{t("context.time")}</th>
          </tr>
        </thead>
        <tbody>
          {data.steps.map((step, index) => (
            <tr key={index} className={index + 1 === data.step ? "chosen" : undefined}>
              <td>
                <button type="button" className="step" aria-pressed={index + 1 === data.step} onClick={() => onStep(index + 1)}>
                  {step.step}
                </button>
              </td>
              <td className="numeric">{count(step.inputTokens)}</td>
              <td className="numeric">{count(step.cachedTokens)}</td>
              <td className="numeric">{count(step.outputTokens)}</td>
              <td className="numeric">{format.money(step.cost)}</td>
              <td className="numeric">{step.milliseconds === null ? "–" : format.duration(step.milliseconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="faint fine">{t("context.counted")}</p>
      {routed && <p className="fine">{t("context.routed", { model: routed.model, why: routed.route })}</p>}
      {brokenBy !== null && (
        <p className="fine">{brokenBy === "" ? t("context.grew") : t("context.brokenBy", { what: sayWhat(t, brokenBy) })}</p>
      )}
    </section>
  );
}
