/** Keeps the thread list fresh: asks again every few seconds while the page is seen, at once when it is shown again. */
import { api } from "./api";
import { Cell, gate } from "./client";
import type { Thread } from "./types";

const PERIOD_MS = 2500;
const OFFLINE_PERIOD_MS = 1000;

export const threads = new Cell<Thread[] | undefined>(undefined);

let timer: number | undefined;
let inFlight: Promise<void> | undefined;

async function read(): Promise<void> {
  try {
    const { threads: found } = await api.threads({ limit: 100 });
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
