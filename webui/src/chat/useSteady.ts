import { useEffect, useRef } from "react";
import type { Message } from "../api/types";

/**
 * Keeps what is on screen while a joined stream tells the same message anew, part after part: what it has not reached yet
 * stays as it was, so that no card flickers, and none loses the focus.
 */
export function useSteady(messages: Message[], isLive: boolean): Message[] {
  const shown = useRef<Message[]>([]);
  const steady = isLive ? withRest(messages, shown.current) : messages;
  useEffect(() => {
    shown.current = steady;
  });
  return steady;
}

function withRest(messages: Message[], before: Message[]): Message[] {
  const last = messages.at(-1);
  const rest = before.find((message) => message.id === last?.id)?.parts.slice(last?.parts.length) ?? [];
  return last && rest.length > 0 ? [...messages.slice(0, -1), { ...last, parts: [...last.parts, ...rest] }] : messages;
}
