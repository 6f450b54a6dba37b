import { getToolName } from "ai";
import type { Message } from "../api/types";
import { useT, type Word } from "../i18n";
import { useFormat } from "../i18n/format";
import { Icon, type IconName } from "../ui/Icon";
import { reveal } from "../ui/reveal";
import { Confirmation } from "./Confirmation";
import { Asked, answerOf } from "./Crew";
import { Data } from "./Data";

export type ToolPart = Extract<Message["parts"][number], { toolCallId: string }>;

interface Props {
  part: ToolPart;
  ms: number | undefined;
  follow?: (isDone: (messages: Message[]) => boolean) => Promise<void>;
}

const LOOK: Record<ToolPart["state"], { word: Word; icon: IconName; tone: string }> = {
  "input-streaming": { word: "tool.writing", icon: "edit", tone: "" },
  "input-available": { word: "tool.running", icon: "clock", tone: "accent" },
  "approval-requested": { word: "tool.asks", icon: "shield", tone: "warn" },
  "approval-responded": { word: "tool.running", icon: "clock", tone: "accent" },
  "output-available": { word: "tool.done", icon: "check", tone: "good" },
  "output-error": { word: "tool.failed", icon: "alert", tone: "bad" },
  "output-denied": { word: "tool.denied", icon: "cross", tone: "bad" },
};

/** A tool call: one line that says what happened, opening to its input and output. */
export function Tool({ part, ms, follow }: Props) {
  const t = useT();
  const format = useFormat();
  const name = getToolName(part);
  // A script may name a state of its own.
  const look = LOOK[part.state] ?? LOOK["input-available"];
  const approval = "approval" in part ? part.approval : undefined;
  if (part.state === "approval-requested" && approval && follow) {
    return <Confirmation approvalId={approval.id} tool={name} input={part.input} follow={follow} />;
  }
  const answered = answerOf(name, part);
  if (answered) return <Asked input={part.input} told={answered} />;
  const isDenied = part.state === "approval-responded" && approval?.approved === false;
  return (
    <details className="tool">
      <summary>
        <Icon name="tool" tiny />
        <strong className="mono">{name}</strong>
        <span className="tool-brief mono truncate">{reveal(brief(part.input))}</span>
        {ms !== undefined && <span className="tool-ms numeric">{format.duration(ms)}</span>}
        <span className={`badge ${isDenied ? "bad" : look.tone}`}>
          <Icon name={isDenied ? "cross" : look.icon} tiny />
          {t(isDenied ? "tool.denied" : look.word)}
        </span>
        <Icon name="chevron" tiny />
      </summary>
      <div className="tool-body">
        <Data label={t("tool.input")} value={part.input} revealed />
        {part.state === "output-available" && <Data label={t("tool.output")} value={part.output} />}
        {part.state === "output-error" && <Data label={t("tool.error")} value={part.errorText} />}
        {approval?.reason && <Data label={t("tool.reason")} value={approval.reason} />}
      </div>
    </details>
  );
}

const TELLING = ["command", "cmd", "path", "pattern", "query", "url", "content"];

function brief(input: unknown): string {
  if (typeof input !== "object" || input === null) return typeof input === "string" ? input : "";
  const fields = input as Record<string, unknown>;
  const key = TELLING.find((name) => typeof fields[name] === "string") ?? Object.keys(fields)[0];
  const value = key === undefined ? "" : fields[key];
  return typeof value === "string" ? (value.split("\n")[0] ?? "") : value === undefined ? "" : JSON.stringify(value);
}
