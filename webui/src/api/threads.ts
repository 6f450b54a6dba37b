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

let limit = STEP;

let timer: number | undefined;
let inFlight: Promise<void> | undefined;
let readAt = -GAP_MS;
let isBehind = false;

/** Reads the list page by page, as far as the person has asked to see. */
async function allThreads(): Promise<{ threads: Thread[]; next: string | null }> {
  let page = await api.threads({ limit: STEP });
  const found = page.threads;
  while (page.next !== null && found.length < limit) {
    page = await api.threads({ limit: STEP, before: page.next });
    found.push(...page.threads);
  }
  return { threads: found, next: page.next };
}

export function showMoreThreads(): Promise<void> {
  limit += STEP;
  return refreshThreads();
}

async function read(): Promise<void> {
  readAt = performance.now();
  try {
    const { threads: found, next } = await allThreads();
    hasMoreThreads.set(next !== null);
    if (JSON.stringify(found) !== JSON.stringify(threads.get())) threads.set(found);
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
