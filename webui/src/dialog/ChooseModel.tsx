import { useState } from "react";
import { api } from "../api/api";
import { refreshThreads } from "../api/threads";
import { useLoad } from "../api/use";
import { useSession } from "../app/session";
import { useT } from "../i18n";
import { Modal } from "../ui/Modal";
import { Problem } from "../ui/State";

/** Chooses the model that answers in one thread; it is asked a short question before it is kept. */
export function ChooseModel({ id, model, onClose }: { id: string; model: string | null; onClose: () => void }) {
  const t = useT();
  const session = useSession();
  const own = session.model.name;
  const provider = (model ?? own).split(":")[0] ?? "";
  const offers = useLoad(() => api.offers({ provider }).catch(() => undefined), provider);
  const [name, setName] = useState(model ?? "");
  const [problem, setProblem] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const choose = async (wanted: string) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await api.changeThread(id, { model: wanted });
      await refreshThreads();
      onClose();
    } catch (error) {
      setProblem(error as Error);
      setBusy(false);
    }
  };
  return (
    <Modal title={t("model.thread")} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim()) void choose(name.trim());
        }}
      >
        <p className="muted">{model ? t("model.chosen", { model, own }) : t("model.own", { own })}</p>
        <label className="field">
          <span>{t("model")}</span>
          <input
            className="input mono"
            value={name}
            list="thread-models"
            placeholder={own}
            onChange={(event) => setName(event.target.value)}
          />
          <datalist id="thread-models">
            {offers.data?.models.map((offer) => <option key={offer.name} value={`${provider}:${offer.name}`} />)}
          </datalist>
        </label>
        <p className="faint">{t("model.tested")}</p>
        {problem && <Problem error={problem} />}
        <div className="modal-actions">
          {model && (
            <button type="button" className="button" disabled={isBusy} onClick={() => void choose("default")}>
              {t("model.back", { own })}
            </button>
          )}
          <button type="submit" className="button primary" disabled={isBusy || !name.trim()}>
            {t(isBusy ? "key.testing" : "model.choose")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
