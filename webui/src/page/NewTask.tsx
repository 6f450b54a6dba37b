import { useEffect, useState } from "react";
import { api } from "../api/api";
import type { Task } from "../api/types";
import { useCell } from "../api/use";
import { language, useT } from "../i18n";
import { Modal } from "../ui/Modal";
import { reveal } from "../ui/reveal";
import { Problem } from "../ui/State";
import { Upcoming } from "./Tasks";

interface Props {
  taken: string[];
  onClose: () => void;
  onMade: (id: string) => Promise<void>;
}

/** A title, when, and what to do: the next times are shown before anything is written. */
export function NewTask({ taken, onClose, onMade }: Props) {
  const t = useT();
  const chosen = useCell(language);
  const [title, setTitle] = useState("");
  const [when, setWhen] = useState("0 9 * * 1-5");
  const [prompt, setPrompt] = useState("");
  const [checked, setChecked] = useState<Task>();
  const [problem, setProblem] = useState<Error>();
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const write = (words: string) =>
    [`---`, `title: ${JSON.stringify(title.trim())}`, `when: ${JSON.stringify(when.trim())}`, `zone: ${zone}`, `---`, ``, words.trim(), ``].join("\n");

  useEffect(() => {
    // Whether the time can be read does not depend on what is still to be written.
    const timer = setTimeout(() => void api.checkTask(write("-")).then(setChecked, setProblem), 150);
    return () => clearTimeout(timer);
  }, [title, when]);

  const create = async () => {
    const slug = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 40).replace(/-+$/, "") || "task";
    let id = slug;
    for (let number = 2; taken.includes(id); number++) id = `${slug}-${number}`;
    try {
      await api.saveTask(id, write(prompt), null);
      await onMade(id);
    } catch (error) {
      setProblem(error as Error);
    }
  };

  return (
    <Modal title={t("tasks.new")} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <label className="field">
          <span>{t("tasks.title")}</span>
          <input className="input" data-focus value={title} onChange={(event) => setTitle(event.target.value)} />
        </label>
        <label className="field">
          <span>{t("tasks.when")}</span>
          <input className="input mono" value={when} placeholder={t("tasks.when.hint")} onChange={(event) => setWhen(event.target.value)} />
        </label>
        <p className="faint">{t("tasks.when.hint")}</p>
        {checked?.problem ? (
          <p className="note warn" role="status">
            {reveal(checked.problem[chosen])}
          </p>
        ) : (
          checked && <Upcoming task={checked} />
        )}
        <label className="field">
          <span>{t("tasks.prompt")}</span>
          <textarea className="input" rows={5} value={prompt} onChange={(event) => setPrompt(event.target.value)} />
        </label>
        {problem && <Problem error={problem} />}
        <div className="modal-actions">
          <button type="button" className="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" className="button primary" disabled={!title.trim() || !prompt.trim() || !checked || checked.problem !== null}>
            {t("tasks.create")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
