import { useEffect, useState } from "react";
import { api } from "../api/api";
import { ApiError } from "../api/client";
import { useT } from "../i18n";
import { Modal } from "../ui/Modal";
import { Problem } from "../ui/State";
import { say } from "../ui/toast";
import { cleanSlug, isSlug } from "./slug";

/** Saves the current course as a priming script; a file that exists is only replaced after a second yes. */
export function SavePriming({ threadId, member, onClose }: { threadId: string; member: string; onClose: () => void }) {
  const t = useT();
  const [slug, setSlug] = useState<string>();
  const [title, setTitle] = useState<string>();
  const [isFull, setFull] = useState(false);
  const [offer, setOffer] = useState({ slug: "", title: "" });
  const [isTaken, setTaken] = useState(false);
  const [isSaving, setSaving] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const clean = cleanSlug(slug ?? offer.slug);
  const path = `.minds/priming/individual/${member}/${clean || "…"}.md`;

  useEffect(() => {
    // An offer is no more than that: without it the fields are empty.
    api.offerSlug(threadId).then(setOffer, () => undefined);
  }, [threadId]);

  const save = async () => {
    setSaving(true);
    setProblem(undefined);
    try {
      const saved = await api.savePriming({
        threadId,
        slug: clean,
        title: (title ?? offer.title).trim() || undefined,
        overwrite: isTaken,
        full: isFull,
      });
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
            value={slug ?? offer.slug}
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
        <label className="field">
          <span>{t("title")}</span>
          <input className="input" value={title ?? offer.title} maxLength={200} onChange={(event) => setTitle(event.target.value)} />
        </label>
        <label className="check">
          <input type="checkbox" checked={isFull} onChange={(event) => setFull(event.target.checked)} />
          <span>{t("priming.full")}</span>
        </label>
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
