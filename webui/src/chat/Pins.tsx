import type { DataParts, Message } from "../api/types";
import { useT } from "../i18n";
import { Icon } from "../ui/Icon";
import { IconButton } from "../ui/IconButton";
import type { ThreadState } from "./useThread";

/** What is pinned in a thread, above its conversation. */
export function Pins({ held }: { held: ThreadState["pins"] }) {
  const t = useT();
  const count = held.pins.length + held.waiting.length;
  if (count === 0) return null;
  return (
    <section className="pins" aria-label={t("pins")}>
      <details className="column fold" open={count <= 3}>
        <summary>
          <Icon name="pin" tiny />
          {t("pins.title", { n: count })}
          <Icon name="chevron" tiny />
        </summary>
        <ol>
          {held.pins.map((pin) => (
            <li key={pin.number}>
              <span className="numeric faint">{pin.number}</span>
              <span className="plain grow">{pin.text}</span>
              <IconButton icon="cross" look="small" label={t("pin.off", { n: pin.number })} onClick={() => void held.unpin(pin.number)} />
            </li>
          ))}
          {held.waiting.map((text, index) => (
            <li key={`waiting-${index}`} className="faint">
              <Icon name="clock" tiny />
              <span className="plain grow">{text}</span>
            </li>
          ))}
        </ol>
      </details>
    </section>
  );
}

/** Where something was pinned, or a pin taken off. */
export function PinMark({ message }: { message: Message }) {
  const t = useT();
  const part = message.parts.find((one) => one.type === "data-pin" || one.type === "data-unpin");
  if (!part || !("data" in part)) return null;
  const data = part.data as DataParts["pin"];
  return (
    <p className="pin-mark" data-row={message.id}>
      <Icon name="pin" tiny />
      <span className="plain">{t(part.type === "data-pin" ? "pin.made" : "pin.gone", { n: data.number, text: data.text })}</span>
    </p>
  );
}
