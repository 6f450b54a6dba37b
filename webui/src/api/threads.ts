/** Keeps the thread list fresh: asks again every few seconds while the page is seen, at once when it is shown again. */
import { api } from "./api";
import { Cell, gate } from "./client";
import type { Thread } from "./types";

const PERIOD_MS = 2500;
const OFFLINE_PERIOD_MS = 1000;

const STEP = 100;

export const threads = new Cell<Thread[] | undefined>(undefined);
export const hasMoreThreads = new Cell(false);

let limit = STEP;

let timer: number | undefined;
let inFlight: Promise<void> | undefined;

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
  try {
    const { threads: found, next } = await allThreads();
    hasMoreThreads.set(next !== null);
    if (JSON.stringify(found) !== JSON.stringify(threads.get())) threads.set(found);
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
