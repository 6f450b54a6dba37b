import { useEffect } from "react";
import { Cell } from "../api/client";
import { useCell } from "../api/use";
import { useT } from "../i18n";
import { IconButton } from "../ui/IconButton";

export const drawer = new Cell(false);

/** Closes the navigation with Escape and gives the focus back to the button that opened it. */
export function useDrawerEscape(): void {
  const isOpen = useCell(drawer);
  useEffect(() => {
    if (!isOpen) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      drawer.set(false);
      document.querySelector<HTMLElement>(".drawer-button")?.focus();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [isOpen]);
}

/** Opens the navigation on narrow screens; wide ones always show it. */
export function DrawerButton() {
  const t = useT();
  const isOpen = useCell(drawer);
  return (
    <IconButton
      icon="menu"
      className="drawer-button"
      label={t("menu")}
      aria-expanded={isOpen}
      onClick={() => drawer.set(!isOpen)}
    />
  );
}
