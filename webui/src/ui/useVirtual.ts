import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from "react";
import { flushSync } from "react-dom";

// So few are drawn whole, and the browser's own search finds all of them.
const WHOLE = 100;
// A list that opens is seen at once: what is near the view first, the others of a short one when that is on the screen.
const NEWEST = 16;
const MARGIN_PX = 400;

/** What is drawn: a row by its place, or the room of rows that are not drawn. */
export type Drawn = { row: number } | { room: number; key: string };

interface Options {
  /** The height of a row that was never drawn. */
  guess: number;
  /** What the style puts between rows. */
  gap?: number;
  /** Rows that stay drawn wherever the view is. */
  pinned?: string[];
}

interface Range {
  from: string | undefined;
  to: string | undefined;
  held: string | undefined;
}

/**
 * Draws the rows of a long list that are near the view, with room in place of the others. A row is an element with its key
 * in `data-row`; its height is remembered once it was drawn. The row that has the focus stays drawn.
 */
export function useVirtual(keys: string[], box: RefObject<HTMLElement | null>, { guess, gap = 0, pinned = [] }: Options) {
  const heights = useRef(new Map<string, number>());
  const [range, setRange] = useState<Range>({ from: undefined, to: undefined, held: undefined });
  const places = useMemo(() => new Map(keys.map((key, place) => [key, place])), [keys]);
  const isWhole = keys.length <= WHOLE;
  const [isOpen, setOpen] = useState(false);
  const hasRows = keys.length > 0;
  const isAll = isWhole && isOpen;
  const first = isAll ? 0 : (places.get(range.from ?? "") ?? Math.max(0, keys.length - NEWEST));
  // What was added at the end since belongs to what is drawn there.
  const last = isAll ? keys.length - 1 : Math.max(first, places.get(range.to ?? "") ?? keys.length - 1);

  const heightOf = (key: string) => (heights.current.get(key) ?? guess) + gap;

  const look = useCallback(() => {
    const element = box.current;
    if (!element || element.clientHeight === 0) return;
    for (const node of element.querySelectorAll<HTMLElement>("[data-row]")) {
      heights.current.set(node.dataset["row"] ?? "", node.offsetHeight);
    }
    const focused = document.activeElement;
    const held = focused && element.contains(focused) ? focused.closest<HTMLElement>("[data-row]")?.dataset["row"] : undefined;
    const [top, bottom] = [element.scrollTop, element.scrollTop + element.clientHeight];
    let [offset, from, to] = [0, -1, keys.length - 1];
    let [start, end] = [0, Infinity];
    for (const [place, key] of keys.entries()) {
      const next = offset + heightOf(key);
      if (place === first) start = offset;
      if (place === last) end = next;
      if (from < 0 && next > top - MARGIN_PX) from = place;
      if (offset < bottom + MARGIN_PX) to = place;
      offset = next;
    }
    const isNear = start <= Math.max(0, top - MARGIN_PX / 2) && (end >= bottom + MARGIN_PX / 2 || last === keys.length - 1);
    // Far more than the view needs is let go, though not with every step.
    const isTight = end - start < (bottom - top + 2 * MARGIN_PX) * 2;
    setRange((now) => {
      const known = { from: keys[first], to: last === keys.length - 1 && isNear ? undefined : keys[last] };
      const next = isNear && isTight ? known : { from: keys[Math.max(0, from)], to: to === keys.length - 1 ? undefined : keys[to] };
      return next.from === now.from && next.to === now.to && held === now.held ? now : { ...next, held };
    });
  }, [box, first, keys, last]);

  useLayoutEffect(look);
  useEffect(() => {
    if (!hasRows) return;
    const frame = requestAnimationFrame(() => setOpen(true));
    return () => cancelAnimationFrame(frame);
  }, [hasRows]);
  useEffect(() => {
    const element = box.current;
    // Drawn before the frame is shown: a frame later the view may be elsewhere, and all would be drawn twice.
    const onScroll = () => flushSync(look);
    element?.addEventListener("scroll", onScroll, { passive: true });
    return () => element?.removeEventListener("scroll", onScroll);
  });

  const drawn: Drawn[] = [];
  const isDrawn = new Set([range.held, ...pinned].flatMap((key) => (key !== undefined && places.has(key) ? [places.get(key)] : [])));
  let room = 0;
  let count = 0;
  const close = (key: string) => {
    if (count > 0) drawn.push({ room: room - gap, key: `room-${key}` });
    [room, count] = [0, 0];
  };
  for (const [place, key] of keys.entries()) {
    if ((place >= first && place <= last) || isDrawn.has(place)) {
      close(key);
      drawn.push({ row: place });
    } else {
      room += heightOf(key);
      count += 1;
    }
  }
  close("end");
  return { drawn, isWhole };
}
