import { useT, type Word } from "../i18n";

const NAMES: Record<string, Word> = {
  web: "platform.web",
  cli: "platform.cli",
  telegram: "platform.telegram",
  feishu: "platform.feishu",
  discord: "platform.discord",
  slack: "platform.slack",
  api: "platform.api",
  schedule: "platform.schedule",
  crew: "platform.crew",
};

export function Platform({ name }: { name: string }) {
  const t = useT();
  const word = NAMES[name];
  return <span className="badge">{word ? t(word) : name}</span>;
}
