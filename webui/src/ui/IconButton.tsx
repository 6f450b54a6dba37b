import type { ButtonHTMLAttributes } from "react";
import { Icon, type IconName } from "./Icon";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon: IconName;
  label: string;
  look?: "solid" | "small";
}

/** A button shown as an icon; its label is spoken and shown on hover. */
export function IconButton({ icon, label, look, className, ...rest }: Props) {
  const classes = ["icon-button", look, className].filter(Boolean).join(" ");
  return (
    <button type="button" className={classes} aria-label={label} title={label} {...rest}>
      <Icon name={icon} tiny={look === "small"} />
    </button>
  );
}
