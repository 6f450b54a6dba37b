/** Hears from the server what changed, over one stream that comes back by itself. Nothing on the page asks by the clock. */
import { useEffect, useRef } from "react";
import { Cell, failure, gate, send, type Gate } from "./client";
import type { Change, Topic } from "./types";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;
/** The server lets itself be heard every 15 seconds; a stream this silent is dead, whatever the network thinks. */
const SILENCE_MS = 45_000;
const BEAT_MS = 20_000;
/** A page that does not answer another by then is asleep. */
const ANSWER_MS = 2_000;
const EVERYTHING: Change = { type: "change", changed: ["threads", "approvals", "runs", "files"], runs: [], files: [], waiting: 0 };

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
async function hear(end: AbortSignal, pass: (told: Told) => void): Promise<boolean> {
  const cut = new AbortController();
  const stop = () => cut.abort();
  // A network that went away leaves its streams open: whether the server is still there shows by asking.
  window.addEventListener("offline", stop);
  end.addEventListener("abort", stop);
  let isHeard = false;
  let silence: number | undefined;
  try {
    pass({});
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
      pass({});
      const events = (rest + value).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events.filter((one) => one.startsWith("data: "))) {
        const change = JSON.parse(event.slice(6)) as Change;
        tell(change);
        pass({ change });
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
  // Only a page that came over a safe connection, or from this machine, knows of its browser's other ones.
  if ("locks" in navigator) share(end.signal);
  else void persist(() => hear(end.signal, () => undefined), end.signal);
  return () => end.abort();
}

const SHARED = "shipmate.changes";
/** What the page with the stream tells the others, or the one new page that asked; nothing at all says that it is there. */
type Told = { change?: Change; gate?: Gate; asks?: string; to?: string };

/** Lets one page of this browser hear the stream for all of them: to one server it opens six connections and no more. */
function share(end: AbortSignal): void {
  const others = new BroadcastChannel(SHARED);
  const pass = (told: Told) => !end.aborted && others.postMessage(told);
  const me = crypto.getRandomValues(new Uint32Array(2)).join();
  let isFirst = false;
  let heardAt = performance.now();
  let turn = new AbortController();
  let silence: number | undefined;

  /** Waits to be the one that hears; or takes over from a page that its browser put to sleep. */
  const lead = async (steal: boolean) => {
    turn.abort();
    turn = new AbortController();
    const { signal } = turn;
    const options = steal ? { steal } : { signal };
    const listen = async () => {
      isFirst = true;
      await persist(() => hear(signal, pass), signal);
    };
    // Refused when the page is left, or another one took over.
    await navigator.locks.request(SHARED, options, listen).catch(() => undefined);
    isFirst = false;
    if (!signal.aborted) void lead(false);
  };
  const expectWithin = (ms: number) => {
    heardAt = performance.now();
    window.clearTimeout(silence);
    silence = window.setTimeout(() => !isFirst && void lead(true), ms);
  };
  const look = () => {
    if (!document.hidden && !isFirst && performance.now() - heardAt > BEAT_MS) void lead(true);
  };

  others.onmessage = ({ data }: MessageEvent<Told>) => {
    expectWithin(SILENCE_MS);
    if (data.asks && isFirst) pass({ to: data.asks, change: { ...EVERYTHING, waiting: waiting.get() }, gate: gate.get() });
    if (data.to && data.to !== me) return;
    // What another page found out of the server holds here too, unless more than the server is missing.
    const state = data.gate ?? (data.change ? "open" : undefined);
    if ((state === "open" && gate.get() === "offline") || (state === "offline" && gate.get() === "open")) gate.set(state);
    if (data.change) tell(data.change);
  };
  const unsubscribe = gate.subscribe(() => isFirst && pass({ gate: gate.get() }));
  document.addEventListener("visibilitychange", look);
  end.addEventListener("abort", () => {
    turn.abort();
    window.clearTimeout(silence);
    document.removeEventListener("visibilitychange", look);
    unsubscribe();
    others.close();
  });
  void lead(false);
  // The server tells everything to who hears it first; who does not, asks for as much.
  pass({ asks: me });
  expectWithin(ANSWER_MS);
}
