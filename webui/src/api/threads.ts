/** Keeps the thread list fresh: read again when the server says that something changed, while the page is seen. */
import { api } from "./api";
import { Cell } from "./client";
import { onChange } from "./live";
import type { Thread } from "./types";

/** What changes many times a second is read this often. */
const GAP_MS = 500;

const STEP = 100;

export const threads = new Cell<Thread[] | undefined>(undefined);
export const hasMoreThreads = new Cell(false);

// What the next page begins behind; null when there is none.
let cursor: string | null = null;
let newest = "";

let timer: number | undefined;
let inFlight: Promise<void> | undefined;
let readAt = -GAP_MS;
let isBehind = false;

/** Reads one page more, behind those that are known. */
export async function showMoreThreads(): Promise<void> {
  if (cursor === null) return;
  const before = cursor;
  const page = await api.threads({ limit: STEP, before });
  if (cursor !== before) return;
  const known = new Set((threads.get() ?? []).map((thread) => thread.id));
  threads.set([...(threads.get() ?? []), ...page.threads.filter((thread) => !known.has(thread.id))]);
  cursor = page.next;
  hasMoreThreads.set(cursor !== null);
}

/** Reads the first page again: what lies behind it was read when someone went there, and seldom changes. */
async function read(): Promise<void> {
  readAt = performance.now();
  try {
    const page = await api.threads({ limit: STEP });
    const text = JSON.stringify(page);
    if (text === newest) return;
    newest = text;
    const edge = page.next === null ? undefined : page.threads.at(-1);
    const known = new Set(page.threads.map((thread) => thread.id));
    const older = (threads.get() ?? []).filter((thread) => edge && thread.lastAt <= edge.lastAt && !known.has(thread.id));
    if (older.length === 0) cursor = page.next;
    hasMoreThreads.set(cursor !== null);
    threads.set([...page.threads, ...older]);
  } catch {
    // The gate already says what is wrong (offline, login or setup); the stream that comes back tells to read again.
  }
}

export function refreshThreads(): Promise<void> {
  inFlight ??= read().finally(() => {
    inFlight = undefined;
  });
  return inFlight;
}

/** Reads the list soon; a page nobody sees does so when it is looked at. */
function refreshSoon(): void {
  isBehind = document.hidden;
  if (isBehind) return;
  window.clearTimeout(timer);
  timer = window.setTimeout(() => void (inFlight ?? Promise.resolve()).then(refreshThreads), readAt + GAP_MS - performance.now());
}

export function watchThreads(): () => void {
  const wake = () => isBehind && refreshSoon();
  document.addEventListener("visibilitychange", wake);
  const unsubscribe = onChange((change) => {
    if (change.changed.includes("threads") || change.changed.includes("runs")) refreshSoon();
  });
  return () => {
    window.clearTimeout(timer);
    document.removeEventListener("visibilitychange", wake);
    unsubscribe();
  };
}

export function threadOf(id: string): Thread | undefined {
  return threads.get()?.find((thread) => thread.id === id);
}
