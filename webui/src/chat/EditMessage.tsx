import { useState } from "react";
import { useT } from "../i18n";

interface Props {
  text: string;
  onSend: (text: string) => Promise<void>;
  onClose: () => void;
}

/** Changes what was said and says it again, in a new thread that shares the history before it. */
export function EditMessage({ text, onSend, onClose }: Props) {
  const t = useT();
  const [words, setWords] = useState(text);
  const [isSending, setSending] = useState(false);
  const send = () => {
    setSending(true);
    void onSend(words.trim()).finally(() => setSending(false));
  };
  return (
    <div className="edit-message">
      <textarea
        className="input"
        aria-label={t("edit")}
        value={words}
        rows={Math.min(12, words.split("\n").length + 1)}
        autoFocus
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing && words.trim()) {
            event.preventDefault();
            send();
          }
        }}
      />
      <div className="row wrap">
        <span className="faint grow">{t("edit.hint")}</span>
        <button type="button" className="button small" onClick={onClose}>
          {t("cancel")}
        </button>
        <button type="button" className="button small primary" disabled={isSending || !words.trim()} onClick={send}>
          {t("edit.send")}
        </button>
      </div>
    </div>
  );
}
