import type { FileUIPart } from "ai";
import type { Message } from "../api/types";
import { dropDraft, keepDraft, readDraft } from "../page/draft";

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

/** Makes a draft of a message again, words and files. */
export function messageDraft(message: Message): Draft {
  return { text: messageText(message), files: message.parts.filter((part) => part.type === "file") };
}

export const wordsKey = (place: string) => `words/${place}`;
export const editKey = (threadId: string, messageId: string) => `edit/${threadId}/${messageId}`;

const unsentKey = (threadId: string) => `unsent/${threadId}`;

/** Reads what was sent from this browser and is not known to be taken; the thread's view sends it as soon as it opens. */
export function readUnsent(threadId: string): Message[] {
  try {
    return JSON.parse(readDraft(unsentKey(threadId))?.text ?? "[]") as Message[];
  } catch {
    return [];
  }
}

export function keepUnsent(threadId: string, messages: Message[]): void {
  if (messages.length > 0) keepDraft(unsentKey(threadId), { text: JSON.stringify(messages), version: null });
  else dropDraft(unsentKey(threadId));
}

/** Leaves a first message for a thread whose view is not open yet. */
export function leaveFor(threadId: string, draft: Draft): void {
  keepUnsent(threadId, [...readUnsent(threadId), draftMessage(draft)]);
}
