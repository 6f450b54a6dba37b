import { useState } from "react";
import { api } from "../api/api";
import { ApiError } from "../api/client";
import { useT } from "../i18n";
import { Modal } from "../ui/Modal";
import { Problem } from "../ui/State";
import { say } from "../ui/toast";

const SLUG = /^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/;

function isSlug(slug: string): boolean {
  return SLUG.test(slug) && slug.split("/").every((piece) => piece !== "." && piece !== "..");
}

/** Saves the current course as a priming script; a file that exists is only replaced after a second yes. */
export function SavePriming({ threadId, member, onClose }: { threadId: string; member: string; onClose: () => void }) {
  const t = useT();
  const [slug, setSlug] = useState("");
  const [isTaken, setTaken] = useState(false);
  const [isSaving, setSaving] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const clean = slug.trim().replace(/\.md$/, "");
  const path = `.minds/priming/individual/${member}/${clean || "…"}.md`;

  const save = async () => {
    setSaving(true);
    setProblem(undefined);
    try {
      const saved = await api.savePriming({ threadId, slug: clean, overwrite: isTaken });
      say(t("priming.saved", { path: saved.path, n: saved.records }));
      onClose();
    } catch (error) {
      if (error instanceof ApiError && error.status === 409 && !isTaken) setTaken(true);
      else setProblem(error as Error);
    }
    setSaving(false);
  };

  return (
    <Modal title={t("priming.save")} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (isSlug(clean)) void save();
        }}
      >
        <p className="muted">{t("priming.save.text")}</p>
        <label className="field">
          <span>{t("priming.slug")}</span>
          <input
            className="input mono"
            value={slug}
            autoComplete="off"
            spellCheck={false}
            placeholder="morning-check"
            aria-invalid={clean !== "" && !isSlug(clean)}
            onChange={(event) => {
              setSlug(event.target.value);
              setTaken(false);
            }}
          />
        </label>
        <p className="path mono" aria-live="polite">
          {path}
        </p>
        {clean !== "" && !isSlug(clean) && <p className="note warn">{t("priming.slug.bad")}</p>}
        {isTaken && (
          <p className="note warn" role="alert">
            {t("priming.taken")}
          </p>
        )}
        {problem && <Problem error={problem} />}
        <div className="modal-actions">
          <button type="button" className="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" className={isTaken ? "button danger" : "button primary"} disabled={!isSlug(clean) || isSaving}>
            {t(isTaken ? "overwrite" : "save")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
