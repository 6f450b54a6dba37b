import { useState } from "react";
import { api } from "../api/api";
import { go } from "../app/route";
import { useT } from "../i18n";
import { Modal } from "../ui/Modal";
import { Problem } from "../ui/State";
import { cleanSlug, isSlug } from "./slug";

/** Makes a script of one exchange, to be written over. */
export function NewPriming({ member, onClose }: { member: string; onClose: () => void }) {
  const t = useT();
  const [slug, setSlug] = useState("");
  const [title, setTitle] = useState("");
  const [isShared, setShared] = useState(true);
  const [problem, setProblem] = useState<Error>();
  const clean = cleanSlug(slug);
  const ref = `${isShared ? "team_shared" : `individual/${member}`}/${clean}`;

  const create = async () => {
    setProblem(undefined);
    try {
      const { text } = await api.scriptSample(ref, title);
      await api.saveScript(ref, text, null);
      onClose();
      go("priming", ref);
    } catch (error) {
      setProblem(error as Error);
    }
  };

  return (
    <Modal title={t("script.new")} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (isSlug(clean)) void create();
        }}
      >
        <label className="field">
          <span>{t("priming.slug")}</span>
          <input
            className="input mono"
            value={slug}
            autoComplete="off"
            spellCheck={false}
            placeholder="morning-check"
            aria-invalid={clean !== "" && !isSlug(clean)}
            onChange={(event) => setSlug(event.target.value)}
          />
        </label>
        <label className="field">
          <span>{t("title")}</span>
          <input className="input" value={title} onChange={(event) => setTitle(event.target.value)} />
        </label>
        <label className="field">
          <span>{t("script.for")}</span>
          <select className="input" value={isShared ? "team" : "own"} onChange={(event) => setShared(event.target.value === "team")}>
            <option value="team">{t("script.for.team")}</option>
            <option value="own">{t("script.for.own", { member })}</option>
          </select>
        </label>
        <p className="path mono" aria-live="polite">
          .minds/priming/{clean ? ref : `${ref}…`}.md
        </p>
        {clean !== "" && !isSlug(clean) && <p className="note warn">{t("priming.slug.bad")}</p>}
        {problem && <Problem error={problem} />}
        <div className="modal-actions">
          <button type="button" className="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" className="button primary" disabled={!isSlug(clean)}>
            {t("dialog.create")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
