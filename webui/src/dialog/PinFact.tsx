import { useState } from "react";
import { useT } from "../i18n";
import { Modal } from "../ui/Modal";

const LIMIT = 4000;

interface Props {
  text: string;
  onPin: (text: string) => void;
  onClose: () => void;
}

/** Pins a fact: the words of a message, cut down to it, or words of one's own. */
export function PinFact({ text, onPin, onClose }: Props) {
  const t = useT();
  const [words, setWords] = useState(text);
  const isFit = words.trim() !== "" && words.trim().length <= LIMIT;
  return (
    <Modal title={t("pin")} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isFit) return;
          onClose();
          onPin(words.trim());
        }}
      >
        <p className="faint">{t("pin.text")}</p>
        <label className="field">
          <span>{t("pin.fact")}</span>
          <textarea
            className="input"
            value={words}
            rows={Math.min(10, words.split("\n").length + 2)}
            onChange={(event) => setWords(event.target.value)}
          />
        </label>
        {words.trim().length > LIMIT && <p className="note warn">{t("pin.long", { n: LIMIT })}</p>}
        <div className="modal-actions">
          <button type="button" className="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" className="button primary" disabled={!isFit}>
            {t("pin.do")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
