/** Keeps the thread list fresh: asks again every few seconds while the page is seen, at once when it is shown again. */
import { api } from "./api";
import { Cell, gate } from "./client";
import type { Thread } from "./types";

const PERIOD_MS = 2500;
const OFFLINE_PERIOD_MS = 1000;

const STEP = 100;

export const threads = new Cell<Thread[] | undefined>(undefined);
export const hasMoreThreads = new Cell(false);

// What the next page begins behind; null when there is none.
let cursor: string | null = null;
let newest = "";

let timer: number | undefined;
let inFlight: Promise<void> | undefined;

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
    // The gate already says what is wrong (offline, login or setup); the next round tries again.
  }
}

export function refreshThreads(): Promise<void> {
  inFlight ??= read().finally(() => {
    inFlight = undefined;
  });
  return inFlight;
}

function plan(): void {
  window.clearTimeout(timer);
  if (document.hidden) return;
  timer = window.setTimeout(
    () => void refreshThreads().finally(plan),
    gate.get() === "offline" ? OFFLINE_PERIOD_MS : PERIOD_MS,
  );
}

export function watchThreads(): () => void {
  const wake = () => {
    if (!document.hidden) void refreshThreads().finally(plan);
  };
  document.addEventListener("visibilitychange", wake);
  window.addEventListener("online", wake);
  const unsubscribe = gate.subscribe(plan);
  void refreshThreads().finally(plan);
  return () => {
    window.clearTimeout(timer);
    document.removeEventListener("visibilitychange", wake);
    window.removeEventListener("online", wake);
    unsubscribe();
  };
}

export function threadOf(id: string): Thread | undefined {
  return threads.get()?.find((thread) => thread.id === id);
}
