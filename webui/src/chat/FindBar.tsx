import { useEffect, useState } from "react";
import { useT } from "../i18n";
import { IconButton } from "../ui/IconButton";
import type { useFind } from "./useFind";

/** Finds words in a thread of which the browser has only a part on the page; of a short one it finds all by itself. */
export function FindBar({ find, isNeeded }: { find: ReturnType<typeof useFind>; isNeeded: boolean }) {
  const t = useT();
  const [isOpen, setOpen] = useState(false);
  const { loadAll } = find;
  useEffect(() => {
    if (!isNeeded || isOpen) return;
    const open = (event: KeyboardEvent) => {
      if (event.key !== "f" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
      event.preventDefault();
      setOpen(true);
      loadAll();
    };
    document.addEventListener("keydown", open);
    return () => document.removeEventListener("keydown", open);
  }, [isNeeded, isOpen, loadAll]);
  if (!isOpen) return null;
  const close = () => {
    setOpen(false);
    find.search("");
  };
  return (
    <div className="find-bar" role="search">
      <input
        className="input"
        type="search"
        autoFocus
        aria-label={t("find")}
        placeholder={t("find")}
        value={find.words}
        onChange={(event) => find.search(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") close();
          if (event.key === "Enter" && !event.nativeEvent.isComposing) find.step(event.shiftKey ? -1 : 1);
        }}
      />
      <span className="faint numeric" role="status">
        {find.words.trim() && (find.count > 0 ? t("find.at", { at: find.at + 1, n: find.count }) : t("find.none"))}
      </span>
      <IconButton icon="back" look="small" label={t("find.before")} onClick={() => find.step(-1)} />
      <IconButton icon="chevron" look="small" label={t("find.next")} onClick={() => find.step(1)} />
      <IconButton icon="cross" look="small" label={t("close")} onClick={close} />
    </div>
  );
}
