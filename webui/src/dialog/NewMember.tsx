import { useState } from "react";
import { api } from "../api/api";
import type { CrewMember } from "../api/types";
import { useCell, useLoad } from "../api/use";
import { language, useT } from "../i18n";
import { Modal } from "../ui/Modal";
import { Problem, Show } from "../ui/State";

/** Takes a member on: what it is called, and which example it begins as. */
export function NewMember({ onMade, onClose }: { onMade: (member: CrewMember) => void; onClose: () => void }) {
  const t = useT();
  const speaks = useCell(language);
  const setup = useLoad(() => api.setup(), "setup");
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const [model, setModel] = useState("");
  const [example, setExample] = useState("helper");
  const [problem, setProblem] = useState<Error>();
  const make = async () => {
    try {
      onMade(await api.addMember({ id: id.trim(), example, name: name.trim() || undefined, model: model.trim() || undefined }));
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <Modal title={t("members.add")} onClose={onClose} wide>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <div className="pair">
          <label className="field">
            <span>{t("members.id")}</span>
            <input className="input mono" value={id} required maxLength={64} placeholder="nina" onChange={(event) => setId(event.target.value)} />
          </label>
          <label className="field">
            <span>{t("members.name")}</span>
            <input className="input" value={name} maxLength={60} placeholder={id} onChange={(event) => setName(event.target.value)} />
          </label>
          <label className="field">
            <span>{t("members.model")}</span>
            <input
              className="input mono"
              value={model}
              maxLength={200}
              placeholder={t("members.model.shared")}
              onChange={(event) => setModel(event.target.value)}
            />
          </label>
        </div>
        <Show from={setup}>
          {(data) => (
            <ul className="examples" aria-label={t("members.example")}>
              {data.examples.map((one) => (
                <li key={one.id}>
                  <button type="button" className="card" aria-pressed={example === one.id} onClick={() => setExample(one.id)}>
                    <strong>{one.title[speaks]}</strong>
                    <span className="faint">{one.description[speaks]}</span>
                  </button>
                </li>
              ))}
            </ul>
          )}
        </Show>
        {problem && <Problem error={problem} />}
        <div className="modal-actions">
          <button type="button" className="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" className="button primary" disabled={!id.trim()}>
            {t("members.add")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
