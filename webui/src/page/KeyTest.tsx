import { useState } from "react";
import { api } from "../api/api";
import type { KeyTest as Result } from "../api/types";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { CodeBlock } from "../ui/CodeBlock";
import { Problem } from "../ui/State";

const PROVIDERS: Record<string, { variable: string; needsUrl?: boolean }> = {
  anthropic: { variable: "ANTHROPIC_API_KEY" },
  openai: { variable: "OPENAI_API_KEY" },
  google: { variable: "GEMINI_API_KEY" },
  ollama: { variable: "", needsUrl: true },
  "openai-compatible": { variable: "LLM_API_KEY", needsUrl: true },
};

/** Tries a key against its provider at once. The key is only tested; the snippet below says where to keep it. */
export function KeyTest() {
  const t = useT();
  const format = useFormat();
  const settings = useLoad(() => api.settings().catch(() => undefined), "settings");
  const [provider, setProvider] = useState("anthropic");
  const [model, setModel] = useState("");
  const [apiKey, setApiKey] = useState("");
  const [baseUrl, setBaseUrl] = useState("");
  const [result, setResult] = useState<Result>();
  const [problem, setProblem] = useState<Error>();
  const [isTesting, setTesting] = useState(false);
  const chosen = PROVIDERS[provider] ?? { variable: "" };
  const name = model.trim();

  const test = async () => {
    setTesting(true);
    setResult(undefined);
    setProblem(undefined);
    try {
      setResult(
        await api.testKey({ provider, model: name || undefined, apiKey: apiKey.trim() || undefined, baseUrl: baseUrl.trim() || undefined }),
      );
    } catch (error) {
      setProblem(error as Error);
    }
    setTesting(false);
  };

  const snippet = JSON.stringify(
    {
      llm: {
        provider,
        ...(name ? { model: name } : {}),
        ...(chosen.variable ? { apiKey: `\${${chosen.variable}}` } : {}),
        ...(baseUrl.trim() ? { baseUrl: baseUrl.trim() } : {}),
      },
    },
    null,
    2,
  );

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
          <select className="input" value={provider} onChange={(event) => setProvider(event.target.value)}>
            {Object.keys(PROVIDERS).map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label className="field">
          <span>{t("model")}</span>
          <input className="input" value={model} placeholder={t("key.model")} onChange={(event) => setModel(event.target.value)} />
        </label>
      </div>
      {chosen.variable && (
        <label className="field">
          <span>{t("key.key")}</span>
          <input
            className="input mono"
            type="password"
            autoComplete="off"
            value={apiKey}
            placeholder={chosen.variable}
            onChange={(event) => setApiKey(event.target.value)}
          />
        </label>
      )}
      {chosen.needsUrl && (
        <label className="field">
          <span>{t("key.url")}</span>
          <input className="input mono" value={baseUrl} placeholder="http://127.0.0.1:11434/v1" onChange={(event) => setBaseUrl(event.target.value)} />
        </label>
      )}
      <div className="row wrap">
        <button type="submit" className="button primary" disabled={isTesting}>
          {t(isTesting ? "key.testing" : "key.test")}
        </button>
        <span className="faint grow">{t("key.private")}</span>
      </div>
      <div aria-live="polite">
        {result?.ok && <p className="note good">{t("key.ok", { model: result.model ?? name, time: format.duration(result.ms ?? 0) })}</p>}
        {result && !result.ok && <p className="note bad">{result.message}</p>}
        {problem && <Problem error={problem} />}
      </div>
      <p className="muted">{t("key.where", { path: settings.data?.keyHint.path ?? "ship.json", name: chosen.variable || "–" })}</p>
      <CodeBlock code={snippet} language="json" />
    </form>
  );
}
