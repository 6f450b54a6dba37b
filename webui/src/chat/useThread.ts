import { Chat, useChat } from "@ai-sdk/react";
import { useCallback, useEffect, useRef, useState } from "react";
import { api } from "../api/api";
import { ApiError, gate } from "../api/client";
import { refreshThreads, threadOf, threads } from "../api/threads";
import type { Message, Thread } from "../api/types";
import { useCell } from "../api/use";
import { draftMessage, messageText, newMessageId, takeFor, type Draft } from "./draft";
import { makeTransport } from "./transport";
import { usePins } from "./usePins";
import { useQueue } from "./useQueue";
import { useSteady } from "./useSteady";

const THROTTLE_MS = 40;
const PAUSE_MS = 250;
const FOLLOW_TRIES = 20;

interface Page {
  loaded: boolean;
  hasMore: boolean;
  problems: string[];
  running: boolean;
  hidePriming: boolean;
}

const EMPTY: Page = { loaded: false, hasMore: false, problems: [], running: false, hidePriming: false };

const pause = (ms: number) => new Promise((resolve) => window.setTimeout(resolve, ms));

/** What was sent and is not known to be taken: sent again until it is, which starts nothing twice. */
interface Unsent {
  message?: Message;
  isTaken: (page: { messages: Message[]; running: boolean }) => boolean;
  send: () => Promise<void>;
}

/** Makes the client of a thread. Handed over whole: `useChat` would hide from it that a joined stream begins anew. */
function makeChat(id: string, onError: (error: Error) => void): Chat<Message> {
  const chat = new Chat<Message>({
    id,
    transport: makeTransport(),
    onError,
    onData: (part) => {
      if (part.type !== "data-message") return;
      const changed = part.data as Message;
      chat.messages = chat.messages.map((message) => (message.id === changed.id ? changed : message));
    },
  });
  return chat;
}

/** Tells whether the server answered and said no, which trying again will not change. */
const isRefusal = (error: Error | undefined): error is ApiError => error instanceof ApiError && error.status > 0;

/** Lists what was loaded before the stored last page. */
function olderThan(fresh: Message[], old: Message[]): Message[] {
  const first = fresh[0];
  const at = first ? old.findIndex((message) => message.id === first.id) : -1;
  return at > 0 ? old.slice(0, at) : [];
}

/** Keeps the running answer on screen, which the stored page leaves out, until its stream tells it anew. */
function runningIn(fresh: Message[], old: Message[]): Message[] {
  const last = old.at(-1);
  return last?.role === "assistant" && !fresh.some((message) => message.id === last.id) ? [last] : [];
}

/** Puts an older page before what is there; a page that came twice is not shown twice. */
function prepend(older: Message[], now: Message[]): Message[] {
  const known = new Set(now.map((message) => message.id));
  return [...older.filter((message) => !known.has(message.id)), ...now];
}

/** Finds the last message that says something: what pins a fact stands aside. */
export function lastSaid(messages: Message[]): Message | undefined {
  const isPin = (message: Message) => message.parts.some((part) => part.type === "data-pin" || part.type === "data-unpin");
  return messages.filter((message) => !isPin(message)).at(-1);
}

function signature(thread: Thread | undefined): string {
  return thread ? `${thread.lastAt} ${thread.messageCount} ${thread.running} ${thread.pendingApprovals}` : "";
}

/**
 * Keeps one thread on screen. The stored thread is the truth: after every stream, reconnect, decision or sign of another
 * tab the last page is read again, and a run that is going on is followed.
 */
export function useThread(id: string) {
  const [page, setPage] = useState<Page>(EMPTY);
  const [problem, setProblem] = useState<Error>();
  const [returned, setReturned] = useState<Draft>();
  const failed = useRef<Error | undefined>(undefined);
  const unsent = useRef<Unsent | undefined>(undefined);
  const gone = useRef(false);
  const syncing = useRef<Promise<void> | undefined>(undefined);
  const [client] = useState(() =>
    makeChat(id, (error) => {
      failed.current = error;
    }),
  );
  const chat = useChat<Message>({ chat: client, experimental_throttle: THROTTLE_MS });
  const isLive = chat.status === "submitted" || chat.status === "streaming";
  const live = useRef(false);
  const { setMessages, sendMessage, resumeStream, regenerate, clearError } = chat;
  const connection = useCell(gate);
  // Archived threads and those far down are not in the open list, and are asked for by name.
  const [alone, setAlone] = useState<Thread>();
  const info = useCell(threads)?.find((thread) => thread.id === id) ?? alone;
  const queue = useQueue(id, isLive || page.running, signature(info));

  const readPage = useCallback(async () => {
    const found = await api.messages(id);
    if (live.current || gone.current) return found;
    let kept: Message[] = [];
    setMessages((old) => {
      kept = olderThan(found.messages, old);
      return [...kept, ...found.messages, ...(found.running ? runningIn(found.messages, old) : [])];
    });
    // Whether there is more before what was kept, the last page does not know.
    setPage((now) => ({ ...found, loaded: true, hasMore: kept.length > 0 ? now.hasMore : found.hasMore }));
    if (!threadOf(id)) void api.thread(id).then(setAlone, () => undefined);
    return found;
  }, [id, setMessages]);

  /** Follows a stream to its end. What went wrong is in `failed` afterwards. */
  const ride = useCallback(
    async (start: () => Promise<void>) => {
      failed.current = undefined;
      live.current = true;
      try {
        await start();
      } finally {
        live.current = false;
      }
      // A stream that ended well was taken, though not all that is taken is stored as a message: an answer is not.
      if (failed.current) clearError();
      else unsent.current = undefined;
    },
    [clearError],
  );

  /** Takes a refused message off the screen and hands its words back to the input. */
  const giveBack = useCallback(
    (error: Error) => {
      const message = unsent.current?.message;
      unsent.current = undefined;
      setProblem(error);
      if (!message) return;
      setMessages((old) => old.filter((other) => other.id !== message.id));
      setReturned({ text: messageText(message), files: message.parts.filter((part) => part.type === "file") });
    },
    [setMessages],
  );

  const settle = useCallback(async (): Promise<void> => {
    try {
      for (;;) {
        const found = await readPage();
        if (gone.current || live.current) return;
        const lost = unsent.current;
        if (lost && !lost.isTaken(found)) {
          await ride(lost.send);
        } else {
          unsent.current = undefined;
          if (!found.running) return;
          await ride(() => resumeStream());
        }
        if (isRefusal(failed.current)) return giveBack(failed.current);
        await pause(PAUSE_MS);
      }
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "offline") setProblem(error as Error);
    } finally {
      void refreshThreads();
    }
  }, [giveBack, readPage, ride, resumeStream]);

  const sync = useCallback((): Promise<void> => {
    syncing.current ??= settle().finally(() => {
      syncing.current = undefined;
    });
    return syncing.current;
  }, [settle]);

  const send = useCallback(
    async (draft: Draft) => {
      setProblem(undefined);
      if (syncing.current) await syncing.current;
      const message = draftMessage(draft);
      const sent = {
        message,
        isTaken: ({ messages }: { messages: Message[] }) => messages.some((one) => one.id === message.id),
        send: () => sendMessage(message),
      };
      unsent.current = sent;
      await ride(sent.send);
      if (isRefusal(failed.current)) giveBack(failed.current);
      else await sync();
    },
    [giveBack, ride, sendMessage, sync],
  );

  const retry = useCallback(async () => {
    setProblem(undefined);
    await syncing.current;
    const answer = lastSaid(client.messages)?.id;
    const key = newMessageId();
    const sent = {
      isTaken: ({ messages, running }: { messages: Message[]; running: boolean }) =>
        running || messages.some((one) => one.id === answer && one.metadata?.replacedBy !== undefined),
      send: () => regenerate({ messageId: answer, body: { key } }),
    };
    unsent.current = sent;
    await ride(sent.send);
    if (isRefusal(failed.current)) giveBack(failed.current);
    await sync();
  }, [client, giveBack, regenerate, ride, sync]);

  /** Waits for the run that a decision set going, then follows it. */
  const follow = useCallback(
    async (isDone: (messages: Message[]) => boolean) => {
      for (let round = 0; round < FOLLOW_TRIES && !gone.current; round++) {
        await sync();
        const found = await readPage().catch(() => undefined);
        if (found && (found.running || isDone(found.messages))) return sync();
        await pause(PAUSE_MS);
      }
    },
    [readPage, sync],
  );

  const first = chat.messages[0]?.id;
  const loadOlder = useCallback(async () => {
    if (!first) return;
    try {
      const found = await api.messages(id, first);
      setMessages((old) => prepend(found.messages, old));
      setPage((now) => ({ ...now, hasMore: found.hasMore && found.messages.length > 0 }));
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "offline") setProblem(error as Error);
    }
  }, [first, id, setMessages]);

  const stop = useCallback(async () => {
    await api.stop(id);
    await pause(3000);
    if (live.current) await chat.stop();
  }, [chat, id]);

  useEffect(() => {
    gone.current = false;
    const draft = takeFor(id);
    if (draft) void send(draft);
    return () => {
      gone.current = true;
      void chat.stop();
    };
    // The view is made anew for each thread, so this runs once.
  }, []);

  // At first, after a lost connection, and whenever the list shows that something happened elsewhere.
  const mark = signature(info);
  useEffect(() => {
    if (connection === "open" && !live.current) void sync();
  }, [connection, mark, sync]);

  const pins = usePins(id, mark, sync);

  useEffect(() => {
    if (info?.unread && !document.hidden) void api.changeThread(id, { read: true }).then(refreshThreads, () => undefined);
  }, [id, info?.unread]);

  return {
    info,
    page,
    problem,
    returned,
    queue,
    pins,
    messages: useSteady(chat.messages, isLive),
    isBusy: isLive || page.running,
    isStreaming: chat.status === "streaming",
    isLost: connection === "offline",
    send,
    retry,
    stop,
    follow,
    loadOlder,
    sync,
  };
}

export type ThreadState = ReturnType<typeof useThread>;
