import { Cell } from "../api/client";
import { preference } from "./preference";

export type Theme = "system" | "light" | "dark";

function stored(): Theme {
  const value = preference.get("theme");
  return value === "light" || value === "dark" ? value : "system";
}

export const theme = new Cell<Theme>(stored());

export function applyTheme(): void {
  const value = theme.get();
  if (value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
}

export function chooseTheme(value: Theme): void {
  preference.set("theme", value);
  theme.set(value);
  applyTheme();
}
