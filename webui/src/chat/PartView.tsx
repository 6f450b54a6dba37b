import { isToolUIPart, type FileUIPart } from "ai";
import { useState } from "react";
import type { DataParts, Message } from "../api/types";
import { useT } from "../i18n";
import { Icon } from "../ui/Icon";
import { Markdown } from "../ui/Markdown";
import { Tool } from "./Tool";

type Part = Message["parts"][number];

interface Props {
  part: Part;
  message: Message;
  plain?: boolean;
  follow?: (isDone: (messages: Message[]) => boolean) => Promise<void>;
}

export function PartView({ part, message, plain, follow }: Props) {
  if (part.type === "text") {
    if (!part.text) return null;
    return plain ? <p className="plain">{part.text}</p> : <Markdown text={part.text} />;
  }
  if (part.type === "reasoning") return <Reasoning text={part.text} isOpen={part.state === "streaming"} />;
  if (part.type === "file") return <FileView file={part} />;
  if (isToolUIPart(part)) return <Tool part={part} ms={message.metadata?.toolMs?.[part.toolCallId]} follow={follow} />;
  if (part.type === "data-error") return <ErrorNote error={part.data as DataParts["error"]} />;
  if (part.type === "data-notice") return <Notice text={(part.data as DataParts["notice"]).text} />;
  if (part.type === "source-url") return <Source url={part.url} title={part.title} />;
  return null;
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

function FileView({ file }: { file: FileUIPart }) {
  const t = useT();
  const [isBroken, setBroken] = useState(false);
  const isOurs = /^(\/api\/files\/|data:|blob:)/.test(file.url);
  const name = file.filename ?? file.mediaType;
  if (isOurs && file.mediaType.startsWith("image/") && !isBroken) {
    return <img className="picture" src={file.url} alt={name} loading="lazy" onError={() => setBroken(true)} />;
  }
  if (isOurs && file.mediaType.startsWith("audio/") && !isBroken) {
    return <audio className="sound" controls src={file.url} aria-label={name} onError={() => setBroken(true)} />;
  }
  return (
    <a className="file-chip" href={isOurs ? file.url : undefined} download={name} title={t("download")}>
      <Icon name="file" tiny />
      <span className="truncate">{name}</span>
    </a>
  );
}

function ErrorNote({ error }: { error: DataParts["error"] }) {
  return (
    <div className="note bad" role="alert">
      <Icon name="alert" />
      <p className="grow">{error.message}</p>
    </div>
  );
}

function Notice({ text }: { text: string }) {
  return (
    <div className="note">
      <Icon name="info" />
      <div className="grow">
        <Markdown text={text} />
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
