import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

const NEAR_PX = 80;

interface Anchor {
  node: Element;
  top: number;
}

/**
 * Keeps the view where the reader wants it: at the end while it is there, else at the same words. The browser's own
 * anchoring is off (chat.css): it does nothing at the very top, and elsewhere would move the view a second time.
 *
 * A scroll event comes a frame after the scroll. So before the view is moved, its place is compared with where it was last
 * seen: nothing but the reader moves it up, and then it stays. What is to be done at the top depends on the place alone, not
 * on an event that may have come before there was anything to load. `first` is the message before which there are older ones.
 */
export function useScroll(first: string | undefined, loadOlder: () => Promise<void>) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const seen = useRef(0);
  const anchor = useRef<Anchor | undefined>(undefined);
  const isLoading = useRef(false);
  const asked = useRef<string | undefined>(undefined);
  const [isAway, setAway] = useState(false);
  const [isLoadingOlder, setLoadingOlder] = useState(false);

  const older = useCallback(async () => {
    if (isLoading.current) return;
    isLoading.current = true;
    asked.current = first;
    setLoadingOlder(true);
    await loadOlder();
    isLoading.current = false;
    setLoadingOlder(false);
  }, [first, loadOlder]);

  /** Notes where the view is now, after it was moved or found, and loads what is missing there. */
  const note = useCallback(
    (element: HTMLElement) => {
      seen.current = element.scrollTop;
      anchor.current = findAnchor(element);
      setAway(restBelow(element) > NEAR_PX * 4);
      const isAtTop = element.clientHeight > 0 && element.scrollTop < NEAR_PX;
      // What did not come is asked for again when the reader scrolls, not over and over.
      if (isAtTop && first !== undefined && first !== asked.current) void older();
    },
    [first, older],
  );

  /** Puts the view back where the reader left it, whatever changed around it. */
  const keep = useCallback(() => {
    const element = box.current;
    if (!element) return;
    isAtEnd.current = isFollowing(element, seen.current, isAtEnd.current);
    const kept = anchor.current;
    if (isAtEnd.current) element.scrollTop = element.scrollHeight;
    else if (kept?.node.isConnected) element.scrollTop += topOf(element, kept.node) - kept.top;
    note(element);
  }, [note]);

  useLayoutEffect(keep);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    // Opened cards, loaded pictures and a growing input all change the height without a new message.
    const watch = new ResizeObserver(keep);
    watch.observe(element);
    if (element.firstElementChild) watch.observe(element.firstElementChild);
    return () => watch.disconnect();
  }, [keep]);

  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    isAtEnd.current = isFollowing(element, seen.current, isAtEnd.current);
    asked.current = undefined;
    note(element);
  };

  const toEnd = () => {
    const element = box.current;
    if (!element) return;
    isAtEnd.current = true;
    element.scrollTop = element.scrollHeight;
    note(element);
  };

  return { box, onScroll, toEnd, isAway, older, isLoadingOlder };
}

function restBelow(element: HTMLElement): number {
  return element.scrollHeight - element.scrollTop - element.clientHeight;
}

/** Tells whether the view is to follow the end, given where it was last seen and whether it followed then. */
function isFollowing(element: HTMLElement, seen: number, wasFollowing: boolean): boolean {
  const rest = restBelow(element);
  // A list that became shorter moves the view up too, but only as far as its own end.
  if (rest < 2) return true;
  if (element.scrollTop < seen - 1) return false;
  return wasFollowing || (element.scrollTop > seen && rest < NEAR_PX);
}

/** Finds what the reader sees first, by which the place is kept when something above it changes. */
function findAnchor(element: HTMLElement): Anchor | undefined {
  const edge = element.getBoundingClientRect().top;
  for (const node of element.firstElementChild?.children ?? []) {
    // Older messages are put below their button, and it goes when there are none.
    if (node.matches(".older, .room") || node.getBoundingClientRect().bottom <= edge) continue;
    return { node, top: topOf(element, node) };
  }
  return undefined;
}

function topOf(element: HTMLElement, node: Element): number {
  return node.getBoundingClientRect().top - element.getBoundingClientRect().top + element.scrollTop;
}
