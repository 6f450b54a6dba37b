import { useState } from "react";
import { useT } from "../i18n";
import { IconButton } from "./IconButton";

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const t = useT();
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    window.setTimeout(() => setDone(false), 1500);
  };
  return (
    <IconButton
      icon={done ? "check" : "copy"}
      look="small"
      label={done ? t("copied") : (label ?? t("copy"))}
      onClick={() => void copy().catch(() => setDone(false))}
    />
  );
}
