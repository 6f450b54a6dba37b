/** Hears from the server what changed, over one stream that comes back by itself. Nothing on the page asks by the clock. */
import { useEffect, useRef } from "react";
import { Cell, failure, gate, send } from "./client";
import type { Change, Topic } from "./types";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;
/** The server lets itself be heard every 15 seconds; a stream this silent is dead, whatever the network thinks. */
const SILENCE_MS = 45_000;

/** How many approvals wait for a person, in whatever thread. */
export const waiting = new Cell(0);

const listeners = new Set<(change: Change) => void>();

export function onChange(listener: (change: Change) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Reads something again whenever one of these topics changed. */
export function useChange(topics: readonly Topic[], reload: (change: Change) => void): void {
  const latest = useRef(reload);
  latest.current = reload;
  const wanted = topics.join();
  useEffect(
    () =>
      onChange((change) => {
        if (change.changed.some((topic) => wanted.split(",").includes(topic))) latest.current(change);
      }),
    [wanted],
  );
}

function tell(change: Change): void {
  if (change.type !== "change") return;
  waiting.set(change.waiting);
  for (const listener of [...listeners]) listener(change);
}

/** Waits, each time longer; but not once the network is back, the page is looked at, or the server was reached. */
function pause(ms: number, end: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      window.clearTimeout(timer);
      window.removeEventListener("online", done);
      document.removeEventListener("visibilitychange", done);
      end.removeEventListener("abort", done);
      unsubscribe();
      resolve();
    };
    // Many pages of one server that was away do not come back in one moment.
    const timer = window.setTimeout(done, ms * (0.75 + Math.random() / 2));
    window.addEventListener("online", done);
    document.addEventListener("visibilitychange", done);
    end.addEventListener("abort", done);
    const unsubscribe = gate.subscribe(() => gate.get() === "open" && done());
  });
}

/** Tries again until it is told to end; what went well begins with short pauses anew. */
export async function persist(attempt: () => Promise<boolean>, end: AbortSignal): Promise<void> {
  let ms = FIRST_PAUSE_MS;
  while (!end.aborted) {
    ms = (await attempt()) ? FIRST_PAUSE_MS : Math.min(ms * 2, LONGEST_PAUSE_MS);
    if (!end.aborted) await pause(ms, end);
  }
}

/** Hears one stream to its end; returns whether it told anything. */
async function hear(end: AbortSignal): Promise<boolean> {
  const cut = new AbortController();
  const stop = () => cut.abort();
  // A network that went away leaves its streams open: whether the server is still there shows by asking.
  window.addEventListener("offline", stop);
  end.addEventListener("abort", stop);
  let isHeard = false;
  let silence: number | undefined;
  try {
    const response = await send("GET", "/api/events", undefined, cut.signal);
    if (!response.ok || !response.body) {
      const error = await failure(response);
      if (error.status === 401) gate.set("login");
      return false;
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ; ) {
      window.clearTimeout(silence);
      silence = window.setTimeout(stop, SILENCE_MS);
      const { done, value } = await reader.read();
      if (done) return isHeard;
      const events = (rest + value).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events.filter((one) => one.startsWith("data: "))) {
        tell(JSON.parse(event.slice(6)) as Change);
        isHeard = true;
      }
    }
  } catch {
    return isHeard;
  } finally {
    window.clearTimeout(silence);
    window.removeEventListener("offline", stop);
    end.removeEventListener("abort", stop);
  }
}

/** Follows the server until the page is left. */
export function followServer(): () => void {
  const end = new AbortController();
  void persist(() => hear(end.signal), end.signal);
  return () => end.abort();
}
