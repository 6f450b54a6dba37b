import { getToolName } from "ai";
import type { Message } from "../api/types";
import { useT } from "../i18n";
import { Icon } from "../ui/Icon";
import { answerOf } from "./Crew";
import { Tool, type ToolPart } from "./Tool";
import { isToolPart } from "./toolPart";

type Part = Message["parts"][number];

/** Puts the calls of one step together; a call that asks a person or a colleague stands alone. */
export function foldCalls(parts: Part[]): (Part | ToolPart[])[] {
  const folded: (Part | ToolPart[])[] = [];
  for (const part of parts) {
    const before = folded.at(-1);
    if (!isToolPart(part) || part.state === "approval-requested" || answerOf(getToolName(part), part)) folded.push(part);
    else if (Array.isArray(before)) before.push(part);
    else folded.push([part]);
  }
  return folded.map((piece) => (Array.isArray(piece) && piece.length === 1 && piece[0] ? piece[0] : piece));
}

/** The calls of one step as one line that opens. */
export function ToolFold({ parts, message }: { parts: ToolPart[]; message: Message }) {
  const t = useT();
  const failed = parts.filter((part) => part.state === "output-error" || part.state === "output-denied").length;
  const isRunning = parts.some((part) => !part.state.startsWith("output"));
  const names = new Map<string, number>();
  for (const part of parts) names.set(getToolName(part), (names.get(getToolName(part)) ?? 0) + 1);
  const brief = [...names].map(([name, count]) => (count > 1 ? `${name} ×${count}` : name)).join(", ");
  return (
    <details className="tool tools">
      <summary>
        <Icon name="tool" tiny />
        <strong>{t("tool.calls", { n: parts.length })}</strong>
        <span className="tool-brief mono truncate">{brief}</span>
        <span className={`badge ${isRunning ? "accent" : failed ? "bad" : "good"}`}>
          <Icon name={isRunning ? "clock" : failed ? "alert" : "check"} tiny />
          {isRunning ? t("tool.running") : failed ? t("tool.failed.n", { n: failed }) : t("tool.done")}
        </span>
        <Icon name="chevron" tiny />
      </summary>
      <div className="tools-body">
        {parts.map((part) => (
          <Tool key={part.toolCallId} part={part} ms={message.metadata?.toolMs?.[part.toolCallId]} />
        ))}
      </div>
    </details>
  );
}
