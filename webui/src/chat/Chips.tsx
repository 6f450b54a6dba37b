import { useT } from "../i18n";
import { Icon } from "../ui/Icon";
import { IconButton } from "../ui/IconButton";
import type { Attachment } from "./useAttachments";

export function Chips({ items, onRemove }: { items: Attachment[]; onRemove: (key: number) => void }) {
  const t = useT();
  if (items.length === 0) return null;
  return (
    <ul className="chips" aria-label={t("attachments")}>
      {items.map((item) => (
        <li key={item.key} className="chip">
          {item.preview ? <img src={item.preview} alt="" /> : <Icon name="file" tiny />}
          <span className="truncate">{item.name}</span>
          {!item.part && <span className="spinner" role="status" aria-label={t("uploading")} />}
          <IconButton icon="cross" look="small" label={t("remove.file", { name: item.name })} onClick={() => onRemove(item.key)} />
        </li>
      ))}
    </ul>
  );
}
