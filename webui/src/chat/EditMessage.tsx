import { useState } from "react";
import { useT } from "../i18n";
import { dropDraft, keepDraft, readDraft } from "../page/draft";

interface Props {
  /** Names what is written here and not sent yet. */
  place: string;
  text: string;
  onSend: (text: string) => Promise<boolean>;
  onClose: () => void;
}

/** Changes what was said and says it again, in a new thread that shares the history before it. */
export function EditMessage({ place, text, onSend, onClose }: Props) {
  const t = useT();
  const [words, setWords] = useState(() => readDraft(place)?.text ?? text);
  const [isSending, setSending] = useState(false);
  const send = () => {
    setSending(true);
    void onSend(words.trim())
      .then((isTaken) => isTaken && dropDraft(place))
      .finally(() => setSending(false));
  };
  const write = (next: string) => {
    setWords(next);
    keepDraft(place, { text: next, version: null });
  };
  const leave = () => {
    dropDraft(place);
    onClose();
  };
  return (
    <div className="edit-message">
      <textarea
        className="input"
        aria-label={t("edit")}
        value={words}
        rows={Math.min(12, words.split("\n").length + 1)}
        autoFocus
        onFocus={(event) => event.target.setSelectionRange(words.length, words.length)}
        onChange={(event) => write(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && !event.nativeEvent.isComposing) leave();
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing && words.trim()) {
            event.preventDefault();
            send();
          }
        }}
      />
      <div className="row wrap">
        <span className="faint grow">{t("edit.hint")}</span>
        <button type="button" className="button small" onClick={leave}>
          {t("cancel")}
        </button>
        <button type="button" className="button small primary" disabled={isSending || !words.trim()} onClick={send}>
          {t("edit.send")}
        </button>
      </div>
    </div>
  );
}
