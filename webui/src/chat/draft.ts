import type { FileUIPart } from "ai";
import type { Message } from "../api/types";

export interface Draft {
  text: string;
  files: FileUIPart[];
}

export function newMessageId(): string {
  const random = crypto.getRandomValues(new Uint8Array(9));
  return `u_${Date.now().toString(36)}${[...random].map((byte) => byte.toString(36)).join("")}`;
}

export function draftMessage(draft: Draft): Message {
  return {
    id: newMessageId(),
    role: "user",
    metadata: { timestamp: new Date().toISOString(), platform: "web" },
    parts: [...draft.files, ...(draft.text ? [{ type: "text" as const, text: draft.text }] : [])],
  };
}

export function messageText(message: Message): string {
  return message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

// What a person wrote before its thread existed; the thread's view sends it as soon as it opens.
const waiting = new Map<string, Draft>();

export function leaveFor(threadId: string, draft: Draft): void {
  waiting.set(threadId, draft);
}

export function takeFor(threadId: string): Draft | undefined {
  const draft = waiting.get(threadId);
  waiting.delete(threadId);
  return draft;
}
