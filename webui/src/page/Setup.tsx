import { useState } from "react";
import { api } from "../api/api";
import { useCell, useLoad } from "../api/use";
import { chooseLanguage, language, useT } from "../i18n";
import mark from "../style/mark.svg";
import { Problem, Show } from "../ui/State";

/** The first run: a folder without an Agent.md gets one from an example, changed as the person likes. */
export default function Setup({ onDone }: { onDone: () => void }) {
  const t = useT();
  const chosenLanguage = useCell(language);
  const setup = useLoad(() => api.setup(), "setup");
  const [chosen, setChosen] = useState<string>();
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<Error>();
  const make = async () => {
    const example = setup.data?.examples.find((one) => one.id === chosen);
    if (!example) return;
    try {
      await api.makeAgent({ example: example.id, text: text === example.text ? undefined : text });
      onDone();
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <main className="lone setup">
      <div className="row">
        <img src={mark} alt="" width={44} height={44} />
        <span className="grow" />
        <div className="segmented" role="group" aria-label={t("settings.language")}>
          <button type="button" aria-pressed={chosenLanguage === "en"} onClick={() => chooseLanguage("en")}>
            English
          </button>
          <button type="button" aria-pressed={chosenLanguage === "zh"} onClick={() => chooseLanguage("zh")}>
            中文
          </button>
        </div>
      </div>
      <h1>{t("setup.title")}</h1>
      <p className="muted">{t("setup.text")}</p>
      <Show from={setup}>
        {(data) => (
          <ul className="examples">
            {data.examples.map((example) => (
              <li key={example.id}>
                <button
                  type="button"
                  className="card"
                  aria-pressed={chosen === example.id}
                  onClick={() => {
                    setChosen(example.id);
                    setText(example.text);
                  }}
                >
                  <strong>{example.title[chosenLanguage]}</strong>
                  <span className="faint">{example.description[chosenLanguage]}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </Show>
      {chosen && (
        <>
          <label className="field">
            <span>{t("setup.edit")}</span>
            <textarea className="input mono" rows={12} value={text} spellCheck={false} onChange={(event) => setText(event.target.value)} />
          </label>
          {problem && <Problem error={problem} />}
          <button type="button" className="button primary" disabled={!text.trim()} onClick={() => void make()}>
            {t("setup.make")}
          </button>
        </>
      )}
    </main>
  );
}
