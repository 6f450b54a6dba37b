import { useT, type Word } from "../i18n";
import { Modal } from "../ui/Modal";

const KEYS: { keys: string[]; word: Word }[] = [
  { keys: ["Enter"], word: "key.send" },
  { keys: ["Shift", "Enter"], word: "key.line" },
  { keys: ["Alt", "Enter"], word: "key.steer" },
  { keys: ["Esc"], word: "key.stop" },
  { keys: ["n"], word: "key.new" },
  { keys: ["/"], word: "key.search" },
  { keys: ["i"], word: "key.write" },
  { keys: ["j"], word: "key.next" },
  { keys: ["k"], word: "key.previous" },
  { keys: ["x"], word: "key.stopAny" },
  { keys: ["g"], word: "key.approvals" },
  { keys: ["?"], word: "key.help" },
];

export function Shortcuts({ onClose }: { onClose: () => void }) {
  const t = useT();
  return (
    <Modal title={t("shortcuts")} onClose={onClose}>
      <dl className="keys">
        {KEYS.map(({ keys, word }) => (
          <div key={word}>
            <dt>
              {keys.map((key) => (
                <kbd key={key} className="kbd">
                  {key}
                </kbd>
              ))}
            </dt>
            <dd>{t(word)}</dd>
          </div>
        ))}
      </dl>
      <p className="faint">{t("shortcuts.off")}</p>
    </Modal>
  );
}
