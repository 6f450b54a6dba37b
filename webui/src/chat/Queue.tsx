import type { Queued } from "../api/types";
import { useT } from "../i18n";
import { Icon } from "../ui/Icon";
import { IconButton } from "../ui/IconButton";

/** The messages that wait for the running turn. */
export function Queue({ items, onRemove }: { items: Queued[]; onRemove: (messageId: string) => void }) {
  const t = useT();
  if (items.length === 0) return null;
  return (
    <section className="queue" aria-label={t("queue")}>
      <h2>
        <Icon name="clock" tiny />
        {t("queue.title", { n: items.length })}
      </h2>
      <ol>
        {items.map((item) => (
          <li key={item.messageId}>
            <span className="truncate grow">{item.text}</span>
            <IconButton icon="cross" look="small" label={t("queue.remove")} onClick={() => onRemove(item.messageId)} />
          </li>
        ))}
      </ol>
    </section>
  );
}
