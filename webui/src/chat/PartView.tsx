import { isToolUIPart } from "ai";
import type { DataParts, Message, Step } from "../api/types";
import { useT } from "../i18n";
import { useReason } from "../i18n/reason";
import { Boundary } from "../ui/Boundary";
import { Icon } from "../ui/Icon";
import { Markdown, Plain } from "../ui/Markdown";
import { FileView } from "./FileView";
import { Tool } from "./Tool";

type Part = Message["parts"][number];

interface Props {
  part: Part;
  message: Message;
  plain?: boolean;
  follow?: (isDone: (messages: Message[]) => boolean) => Promise<void>;
}

/** One part of a message; a part that cannot be shown is said to be there and takes nothing with it. */
export function PartView(props: Props) {
  return (
    <Boundary instead={<UnknownPart />}>
      <PartBody {...props} />
    </Boundary>
  );
}

export function UnknownPart() {
  const t = useT();
  return <p className="note warn">{t("part.unknown")}</p>;
}

function PartBody({ part, message, plain, follow }: Props) {
  if (!isShowable(part)) return <UnknownPart />;
  if (part.type === "text") {
    if (!part.text) return null;
    return plain ? <Plain text={part.text} /> : <Markdown text={part.text} />;
  }
  if (part.type === "reasoning") return <Reasoning text={part.text} isOpen={part.state === "streaming"} />;
  if (part.type === "file") return <FileView file={part} />;
  if (isToolUIPart(part)) return <Tool part={part} ms={message.metadata?.toolMs?.[part.toolCallId]} follow={follow} />;
  if (part.type === "data-error") return <ErrorNote error={part.data as DataParts["error"]} />;
  if (part.type === "data-notice") return <Notice text={(part.data as DataParts["notice"]).text} />;
  if (part.type === "data-steps") return <StepList steps={(part.data as DataParts["steps"]).steps} />;
  if (part.type === "source-url") return <Source url={part.url} title={part.title} />;
  return null;
}

/** Whether a part has what its type promises: a script may hold whatever a person wrote. */
function isShowable(part: Part): boolean {
  const found = part as { type?: unknown; text?: unknown; data?: { text?: unknown; message?: unknown; steps?: unknown } | null; url?: unknown; mediaType?: unknown };
  if (typeof found.type !== "string") return false;
  if (found.type === "text" || found.type === "reasoning") return typeof found.text === "string";
  if (found.type === "data-notice") return typeof found.data?.text === "string";
  if (found.type === "data-error") return typeof found.data?.message === "string";
  if (found.type === "data-steps") return Array.isArray(found.data?.steps);
  if (found.type === "file") return typeof found.url === "string" && typeof found.mediaType === "string";
  if (found.type === "source-url") return typeof found.url === "string";
  return true;
}

export function Reasoning({ text, isOpen }: { text: string; isOpen: boolean }) {
  const t = useT();
  if (!text.trim()) return null;
  return (
    <details className="fold reasoning">
      <summary>
        <Icon name="thought" tiny />
        {isOpen ? t("reasoning.now") : t("reasoning")}
        <Icon name="chevron" tiny />
      </summary>
      <Markdown text={text} />
    </details>
  );
}

function ErrorNote({ error }: { error: DataParts["error"] }) {
  const reason = useReason();
  return (
    <div className="note bad" role="alert">
      <Icon name="alert" />
      <p className="grow">{reason(error.message)}</p>
    </div>
  );
}

/** The list of steps that everyone sees. */
export function StepList({ steps }: { steps: Step[] }) {
  const t = useT();
  return (
    <ul className="steps" aria-label={t("steps")}>
      {steps.map((step, place) => (
        <li key={place} className={step.done ? "done" : undefined}>
          <input type="checkbox" checked={step.done} disabled aria-label={t(step.done ? "step.done" : "step.open")} />
          <span>{step.text}</span>
        </li>
      ))}
    </ul>
  );
}

function Notice({ text }: { text: string }) {
  const reason = useReason();
  return (
    <div className="note">
      <Icon name="info" />
      <div className="grow">
        <Markdown text={reason(text)} />
      </div>
    </div>
  );
}

function Source({ url, title }: { url: string; title?: string }) {
  return (
    <a className="file-chip" href={url} target="_blank" rel="noreferrer noopener">
      {title ?? url}
    </a>
  );
}
