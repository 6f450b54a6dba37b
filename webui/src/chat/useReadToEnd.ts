import { useEffect, useState, type RefObject } from "react";
import { Cell } from "../api/client";

/** The cards whose text is longer than what is shown of it and was not read to its end. */
export const unreadCards = new Cell<ReadonlySet<string>>(new Set());

function markRead(id: string, isRead: boolean): void {
  const next = new Set(unreadCards.get());
  if (isRead ? next.delete(id) : !next.has(id) && next.add(id)) unreadCards.set(next);
}

// A line that is cut by half counts as seen.
const NEAR_PX = 12;

/** Knows whether a text was scrolled to its end; once seen, it stays seen. */
export function useReadToEnd(place: RefObject<HTMLElement | null>, id: string, isShown: boolean) {
  const [isRead, setRead] = useState(false);
  useEffect(() => {
    const text = place.current?.querySelector<HTMLElement>("pre");
    if (!isShown || !text || isRead) return;
    const look = () => {
      const isAtEnd = text.scrollHeight - text.scrollTop - text.clientHeight < NEAR_PX;
      markRead(id, isAtEnd);
      if (isAtEnd) setRead(true);
    };
    const sizes = new ResizeObserver(look);
    sizes.observe(text);
    text.addEventListener("scroll", look);
    return () => {
      sizes.disconnect();
      text.removeEventListener("scroll", look);
      markRead(id, true);
    };
  }, [place, id, isShown, isRead]);
  const showEnd = () => {
    const text = place.current?.querySelector<HTMLElement>("pre");
    text?.scrollTo({ top: text.scrollHeight });
    text?.focus();
  };
  return { isRead: isRead || !isShown, showEnd };
}
