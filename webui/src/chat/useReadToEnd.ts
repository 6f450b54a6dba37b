import { useEffect, useState, type RefObject } from "react";
import { Cell } from "../api/client";
import { useCell } from "../api/use";

/** The cards whose text was shown to its end; one that is not there yet was not. */
export const readCards = new Cell<ReadonlySet<string>>(new Set());

// Nobody reads, and decides, faster: a click this early was meant for what stood there before.
const FRESH_MS = 500;

/** Tells whether what a key names has only just come. */
export function useFresh(key: string): boolean {
  const [settled, setSettled] = useState<string>();
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(key), FRESH_MS);
    return () => window.clearTimeout(timer);
  }, [key]);
  return settled !== key;
}

// A line that is cut by half counts as seen.
const NEAR_PX = 12;

/** Knows whether a text was scrolled to its end; once seen, it stays seen. */
export function useReadToEnd(place: RefObject<HTMLElement | null>, id: string, isShown: boolean) {
  const isRead = useCell(readCards).has(id);
  useEffect(() => {
    const text = place.current?.querySelector<HTMLElement>("pre");
    if (!isShown || !text || isRead) return;
    const look = () => {
      const isAtEnd = text.scrollHeight - text.scrollTop - text.clientHeight < NEAR_PX;
      if (isAtEnd) readCards.set(new Set([...readCards.get(), id]));
    };
    const sizes = new ResizeObserver(look);
    sizes.observe(text);
    text.addEventListener("scroll", look);
    return () => {
      sizes.disconnect();
      text.removeEventListener("scroll", look);
    };
  }, [place, id, isShown, isRead]);
  const showEnd = () => {
    const text = place.current?.querySelector<HTMLElement>("pre");
    text?.scrollTo({ top: text.scrollHeight });
    text?.focus();
  };
  return { isRead: isRead || !isShown, showEnd };
}
