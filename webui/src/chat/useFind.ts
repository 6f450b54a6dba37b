import { useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from "react";
import { useRoute } from "../app/route";
import { messageText } from "./draft";
import type { ThreadState } from "./useThread";
import type { Place } from "./version";

interface Target {
  messageId: string;
  words: string;
}

const MARK = "found";

/** Brings a message into view that the address names or a search in the thread found, with the words marked. */
export function useFind(thread: ThreadState, box: RefObject<HTMLElement | null>, places: Place[]) {
  const { query } = useRoute();
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const [target, setTarget] = useState<Target>();
  const shown = useRef<Target | undefined>(undefined);

  const hits = useMemo(() => {
    const sought = words.trim().toLowerCase();
    return sought ? places.filter(({ message }) => messageText(message).toLowerCase().includes(sought)) : [];
  }, [places, words]);
  const hit = hits[Math.min(at, hits.length - 1)]?.message.id;

  const { loadUntil } = thread;
  const isLoaded = thread.page.loaded;
  useEffect(() => {
    const messageId = query.get("m");
    if (!messageId || !isLoaded) return;
    void loadUntil(messageId).then((isThere) => isThere && setTarget({ messageId, words: query.get("q") ?? "" }), () => undefined);
  }, [isLoaded, loadUntil, query]);
  useEffect(() => {
    if (hit) setTarget({ messageId: hit, words: words.trim() });
  }, [hit, words]);

  const key = target && places.find(({ versions }) => versions.some((one) => one.id === target.messageId))?.key;
  useLayoutEffect(() => {
    const node = key !== undefined && box.current?.querySelector(`[data-row="${CSS.escape(key)}"]`);
    if (!node || !target || shown.current === target) return;
    shown.current = target;
    node.scrollIntoView({ block: "center" });
    box.current?.querySelector(`.${MARK}`)?.classList.remove(MARK);
    node.classList.add(MARK);
    markWords(node, target.words);
  });
  useEffect(() => () => void CSS.highlights?.delete(MARK), []);

  return {
    pinned: key === undefined ? [] : [key],
    words,
    count: hits.length,
    at: Math.min(at, hits.length - 1),
    search: (next: string) => {
      setWords(next);
      setAt(0);
    },
    step: (by: number) => setAt((now) => (hits.length > 0 ? (now + by + hits.length) % hits.length : 0)),
    /** Loads the rest of the thread, so that all of it is searched. */
    loadAll: () => void loadUntil("").catch(() => undefined),
  };
}

/** Marks words in what is shown, without changing it. */
function markWords(node: Element, words: string): void {
  if (!CSS.highlights) return;
  const sought = words.toLowerCase().split(/\s+/).filter(Boolean);
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const lower = text.textContent?.toLowerCase() ?? "";
    for (const word of sought) {
      for (let start = lower.indexOf(word); start >= 0; start = lower.indexOf(word, start + word.length)) {
        const range = new Range();
        range.setStart(text, start);
        range.setEnd(text, Math.min(start + word.length, text.textContent?.length ?? 0));
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set(MARK, new Highlight(...ranges));
}
