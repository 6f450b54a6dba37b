import { useState } from "react";
import { api } from "../api/api";
import { refreshThreads } from "../api/threads";
import { useT } from "../i18n";
import { Modal } from "../ui/Modal";
import { sayError } from "../ui/toast";

export function RenameThread({ id, title, onClose }: { id: string; title: string; onClose: () => void }) {
  const t = useT();
  const [text, setText] = useState(title);
  const save = () => {
    onClose();
    void api.changeThread(id, { title: text.trim() }).catch(sayError).then(refreshThreads);
  };
  return (
    <Modal title={t("rename")} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim()) save();
        }}
      >
        <label className="field">
          <span>{t("title")}</span>
          <input className="input" value={text} maxLength={200} onChange={(event) => setText(event.target.value)} />
        </label>
        <div className="modal-actions">
          <button type="button" className="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" className="button primary" disabled={!text.trim()}>
            {t("save")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
