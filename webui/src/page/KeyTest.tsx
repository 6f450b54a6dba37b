import { useState } from "react";
import { api } from "../api/api";
import type { KeyTest as Result, ModelChoice, Offer, Provider } from "../api/types";
import { useLoad } from "../api/use";
import { loadSession } from "../app/session";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { CodeBlock } from "../ui/CodeBlock";
import { Problem } from "../ui/State";

type Doing = "list" | "test" | "save";

/** Chooses the model that answers: a provider, its key, a model from its list, tested at once and then kept. */
export function KeyTest() {
  const t = useT();
  const known = useLoad(() => api.providers(), "providers");
  const providers = known.data?.providers ?? [];
  const [picked, setPicked] = useState<string>();
  const [model, setModel] = useState("");
  const [apiKey, setApiKey] = useState("");
  const [address, setAddress] = useState("");
  const [offers, setOffers] = useState<Offer[]>();
  const [result, setResult] = useState<Result>();
  const [said, setSaid] = useState<{ good: boolean; text: string }>();
  const [problem, setProblem] = useState<Error>();
  const [doing, setDoing] = useState<Doing>();
  const name = picked ?? providers[0]?.name ?? "anthropic";
  const provider = providers.find((one) => one.name === name);
  const baseUrl = address.trim() || (name === "ollama" ? "" : (provider?.foundAt ?? ""));
  const choice: ModelChoice = {
    provider: name,
    model: model.trim() || undefined,
    apiKey: apiKey.trim() || undefined,
    baseUrl: baseUrl || undefined,
  };
  const forget = () => {
    setResult(undefined);
    setSaid(undefined);
    setProblem(undefined);
  };
  const act = async (kind: Doing, work: () => Promise<void>) => {
    forget();
    setDoing(kind);
    try {
      await work();
    } catch (error) {
      setProblem(error as Error);
    }
    setDoing(undefined);
  };
  const list = () =>
    act("list", async () => {
      const found = await api.offers(choice);
      setOffers(found.models);
      setSaid({ good: !found.message, text: found.message ?? t("key.listed", { n: found.models.length }) });
    });
  const test = () => act("test", async () => setResult(await api.testKey(choice)));
  const save = (force = false) =>
    act("save", async () => {
      const saved = await api.saveModel({ ...choice, force });
      setResult(saved.test);
      if (!saved.saved) return;
      setApiKey("");
      setSaid({ good: true, text: tellSaved(t, saved.file, saved.variable) });
      await Promise.all([loadSession(), known.reload()]);
    });

  return (
    <form
      className="stack key-test"
      onSubmit={(event) => {
        event.preventDefault();
        void test();
      }}
    >
      <div className="pair">
        <label className="field">
          <span>{t("key.provider")}</span>
          <select
            className="input"
            value={name}
            onChange={(event) => {
              setPicked(event.target.value);
              setOffers(undefined);
              setModel("");
              forget();
            }}
          >
            {providers.length === 0 && <option>{name}</option>}
            {providers.map((one) => (
              <option key={one.name} value={one.name}>
                {describe(t, one)}
              </option>
            ))}
          </select>
        </label>
        <label className="field">
          <span>{t("model")}</span>
          <input
            className="input mono"
            value={model}
            list="offered-models"
            placeholder={provider?.model ?? t("key.model")}
            onChange={(event) => setModel(event.target.value)}
          />
          <datalist id="offered-models">
            {offers?.map((offer) => <option key={offer.name} value={offer.name} />)}
          </datalist>
        </label>
      </div>
      <label className="field">
        <span>{t("key.key")}</span>
        <input
          className="input mono"
          type="password"
          autoComplete="off"
          value={apiKey}
          placeholder={keyHint(t, provider)}
          onChange={(event) => setApiKey(event.target.value)}
        />
      </label>
      {(provider?.needsUrl || provider?.isKeyless) && (
        <label className="field">
          <span>{t("key.url")}</span>
          <input
            className="input mono"
            value={address}
            placeholder={provider.foundAt ?? "http://127.0.0.1:8000/v1"}
            onChange={(event) => setAddress(event.target.value)}
          />
        </label>
      )}
      <div className="row wrap">
        <button type="button" className="button" disabled={doing !== undefined} onClick={() => void list()}>
          {t(doing === "list" ? "key.listing" : "key.list")}
        </button>
        <button type="submit" className="button" disabled={doing !== undefined}>
          {t(doing === "test" ? "key.testing" : "key.test")}
        </button>
        <button type="button" className="button primary" disabled={doing !== undefined} onClick={() => void save()}>
          {t(doing === "save" ? "key.saving" : "key.save")}
        </button>
      </div>
      <div aria-live="polite" className="stack">
        {result && <Outcome result={result} onForce={said ? undefined : () => void save(true)} />}
        {said && <p className={said.good ? "note good" : "note"}>{said.text}</p>}
        {problem && <Problem error={problem} />}
      </div>
      <p className="faint">{t("key.private", { name: provider?.variable ?? "" })}</p>
      <ByHand choice={choice} variable={provider?.variable} />
    </form>
  );
}

function Outcome({ result, onForce }: { result: Result; onForce?: () => void }) {
  const t = useT();
  const format = useFormat();
  if (result.ok) {
    const values = { model: result.model ?? "", time: format.duration(result.ms ?? 0) };
    const tokens = { input: result.inputTokens ?? 0, output: result.outputTokens ?? 0 };
    return <p className="note good">{t("key.ok", { ...values, ...tokens })}</p>;
  }
  return (
    <div className="note bad">
      <p>{result.message}</p>
      {onForce && (
        <button type="button" className="button small" onClick={onForce}>
          {t("key.force")}
        </button>
      )}
    </div>
  );
}

/** What stands in ship.json, for those who write it themselves. */
function ByHand({ choice, variable }: { choice: ModelChoice; variable?: string }) {
  const t = useT();
  const { provider, model, baseUrl } = choice;
  const llm = { provider, model, baseUrl, apiKey: variable && `\${${variable}}` };
  return (
    <details className="fold">
      <summary>{t("key.where", { path: "ship.json", name: variable ?? "–" })}</summary>
      <CodeBlock code={JSON.stringify({ llm }, null, 2)} language="json" />
    </details>
  );
}

type T = ReturnType<typeof useT>;

function describe(t: T, one: Provider): string {
  if (one.foundAt) return `${one.name} · ${t("key.found")}`;
  return one.hasKey ? `${one.name} · ${t("key.has")}` : one.name;
}

function keyHint(t: T, provider?: Provider): string {
  if (!provider) return "";
  if (provider.hasKey) return t("key.keeps", { name: provider.variable });
  return provider.isKeyless ? t("key.none") : provider.variable;
}

function tellSaved(t: T, file: string | null, variable: string | null): string {
  const kept = variable ? `${t("key.savedKey", { name: variable })} ` : "";
  return `${kept}${t("key.saved", { file: file ?? "" })}`;
}
