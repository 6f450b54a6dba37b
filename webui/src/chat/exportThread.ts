import { getToolName } from "ai";
import { api } from "../api/api";
import type { Message } from "../api/types";
import { session } from "../app/session";
import { handoffOf } from "./Crew";
import { isToolPart } from "./toolPart";

const PAGE = 500;

/** Reads a thread whole, from its first message on. */
async function readAll(id: string): Promise<Message[]> {
  let page = await api.messages(id, undefined, PAGE);
  const found = page.messages;
  while (page.hasMore && page.messages[0]) {
    page = await api.messages(id, page.messages[0].id, PAGE);
    found.unshift(...page.messages);
  }
  return found;
}

/** Writes text as a block that nothing in it can end. */
function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

const written = (value: unknown) => (typeof value === "string" ? fenced(value) : fenced(JSON.stringify(value, null, 2) ?? "", "json"));

function partMarkdown(part: Message["parts"][number]): string {
  if (part.type === "text") return part.text;
  if (part.type === "reasoning") return part.text.replace(/^/gm, "> ");
  if (part.type === "file") return `[${part.filename ?? part.mediaType}](${part.url.startsWith("data:") ? "" : part.url})`;
  if (!isToolPart(part)) return "";
  const outcome = part.state === "output-available" ? part.output : part.state === "output-error" ? part.errorText : undefined;
  return [`**${getToolName(part)}**`, written(part.input), ...(outcome === undefined ? [] : [written(outcome)])].join("\n\n");
}

/** Writes a message as Markdown, calls included. */
export function messageMarkdown(message: Message): string {
  return message.parts.map(partMarkdown).filter(Boolean).join("\n\n");
}

export interface Names {
  title: string;
  you: string;
  member: string;
}

/** Writes the thread as it is read: answers that were replaced are left out. */
export async function threadMarkdown(id: string, { title, you, member }: Names): Promise<string> {
  const messages = (await readAll(id)).filter((message) => message.role !== "system" && message.metadata?.replacedBy === undefined);
  const names = new Map((session.get()?.members ?? []).map((one) => [one.id, one.name || one.id]));
  const named = (member: string) => names.get(member) ?? member;
  const speaker = ({ role, metadata }: Message): string => {
    const said = metadata?.errand ? metadata.errand.chain?.at(-1) : metadata?.member;
    return said ? named(said) : role === "user" ? you : member;
  };
  const pieces = messages.map((message) => {
    const passed = handoffOf(message);
    if (passed) return `${named(passed.from)} → ${named(passed.to)}`;
    const at = message.metadata?.timestamp ? ` · ${message.metadata.timestamp}` : "";
    return `## ${speaker(message)}${at}\n\n${messageMarkdown(message)}`;
  });
  return `${[`# ${title}`, ...pieces].join("\n\n")}\n`;
}

export async function threadJson(id: string): Promise<string> {
  return `${JSON.stringify({ id, messages: await readAll(id) }, null, 2)}\n`;
}

/** Lets the browser keep a text as a file. */
export function download(name: string, text: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name.replace(/[^\p{L}\p{N} ._-]+/gu, " ").trim().slice(0, 80);
  anchor.click();
  window.setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
