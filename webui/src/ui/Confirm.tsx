import { useT } from "../i18n";
import { Modal } from "./Modal";

interface Props {
  title: string;
  text: string;
  action: string;
  onConfirm: () => void;
  onClose: () => void;
}

export function Confirm({ title, text, action, onConfirm, onClose }: Props) {
  const t = useT();
  return (
    <Modal title={title} onClose={onClose}>
      <p className="muted">{text}</p>
      <div className="modal-actions">
        <button type="button" className="button" onClick={onClose}>
          {t("cancel")}
        </button>
        <button type="button" className="button danger" onClick={onConfirm} data-focus>
          {action}
        </button>
      </div>
    </Modal>
  );
}
