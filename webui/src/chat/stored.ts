/** How what is on screen and what is stored come together. */
import { ApiError } from "../api/client";
import type { Message, Thread } from "../api/types";

/** Tells whether the server answered and said no, which trying again will not change. */
export const isRefusal = (error: Error | undefined): error is ApiError => error instanceof ApiError && error.status > 0;

/** Lists what was loaded before the stored last page. */
export function olderThan(fresh: Message[], old: Message[]): Message[] {
  const first = fresh[0];
  const at = first ? old.findIndex((message) => message.id === first.id) : -1;
  return at > 0 ? old.slice(0, at) : [];
}

/** Keeps the running answer on screen, which the stored page leaves out, until its stream tells it anew. */
export function runningIn(fresh: Message[], old: Message[]): Message[] {
  const last = old.filter((message) => message.role === "assistant").at(-1);
  return last && !fresh.some((message) => message.id === last.id) ? [last] : [];
}

/** Puts what waits to be sent behind what is there, once. */
export function withUnsent(messages: Message[], unsent: Message[]): Message[] {
  const left = unsent.filter((message) => !messages.some((one) => one.id === message.id));
  return left.length > 0 ? [...messages, ...left] : messages;
}

/** Puts an older page before what is there; a page that came twice is not shown twice. */
export function prepend(older: Message[], now: Message[]): Message[] {
  const known = new Set(now.map((message) => message.id));
  return [...older.filter((message) => !known.has(message.id)), ...now];
}

/** Finds the last message that says something: what pins a fact stands aside. */
export function lastSaid(messages: Message[]): Message | undefined {
  const isPin = (message: Message) => message.parts.some((part) => part.type === "data-pin" || part.type === "data-unpin");
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at];
    if (message && !isPin(message)) return message;
  }
  return undefined;
}

export function signature(thread: Thread | undefined): string {
  return thread ? `${thread.lastAt} ${thread.messageCount} ${thread.running} ${thread.pendingApprovals}` : "";
}

/** What was sent and is not known to be taken: sent again until it is, which starts nothing twice. */
export interface Unsent {
  message?: Message;
  isTaken: (page: { messages: Message[]; running: boolean }) => boolean;
  send: () => Promise<void>;
}

/** What is known of a thread beside its messages. */
export interface Page {
  loaded: boolean;
  hasMore: boolean;
  problems: string[];
  running: boolean;
  hidePriming: boolean;
}

export const EMPTY: Page = { loaded: false, hasMore: false, problems: [], running: false, hidePriming: false };
