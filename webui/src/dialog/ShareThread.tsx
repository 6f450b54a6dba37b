import { useState } from "react";
import { api } from "../api/api";
import { refreshThreads } from "../api/threads";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import { Modal } from "../ui/Modal";
import { Problem, Show } from "../ui/State";

/** Says with whom of the team a thread is shared. */
export function ShareThread({ id, onClose }: { id: string; onClose: () => void }) {
  const t = useT();
  const sharing = useLoad(() => api.sharing(id), id);
  return (
    <Modal title={t("share")} onClose={onClose}>
      <Show from={sharing}>{(data) => <Names id={id} users={data.users} onClose={onClose} />}</Show>
    </Modal>
  );
}

function Names({ id, users, onClose }: { id: string; users: string[]; onClose: () => void }) {
  const t = useT();
  const [text, setText] = useState(users.join("\n"));
  const [problem, setProblem] = useState<Error>();
  const save = async () => {
    try {
      await api.share(id, text.split(/[\s,]+/).filter(Boolean));
      onClose();
      await refreshThreads();
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <p className="muted">{t("share.about")}</p>
      <label className="field">
        <span>{t("share.with")}</span>
        <textarea className="input" rows={4} value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      {problem && <Problem error={problem} />}
      <div className="modal-actions">
        <button type="button" className="button" onClick={onClose}>
          {t("cancel")}
        </button>
        <button type="submit" className="button primary">
          {t("save")}
        </button>
      </div>
    </form>
  );
}
