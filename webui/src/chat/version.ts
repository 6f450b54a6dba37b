import type { Message } from "../api/types";

/** A place in the conversation: a message, with the answers it replaced before it. */
export interface Place {
  key: string;
  message: Message;
  versions: Message[];
}

/** Puts answers that replaced one another in one place, where the newest stands. */
export function placesOf(messages: Message[]): Place[] {
  const known = new Set(messages.map((message) => message.id));
  const before = new Map<string, Message[]>();
  const places: Place[] = [];
  for (const message of messages) {
    const versions = [...(before.get(message.id) ?? []), message];
    const next = message.metadata?.replacedBy;
    if (next !== undefined && known.has(next)) before.set(next, versions);
    else places.push({ key: versions[0]?.id ?? message.id, message, versions });
  }
  return places;
}
