import { Cell } from "../api/client";
import { useCell } from "../api/use";
import { useT } from "../i18n";
import { IconButton } from "../ui/IconButton";

export const drawer = new Cell(false);

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
