import { useChat } from "@ai-sdk/react";
import { useCallback, useEffect, useRef, useState } from "react";
import { api } from "../api/api";
import { ApiError, gate } from "../api/client";
import { refreshThreads, threadOf, threads } from "../api/threads";
import type { Message, Thread } from "../api/types";
import { useCell } from "../api/use";
import { draftMessage, keepUnsent, messageDraft, newMessageId, readUnsent, type Draft } from "./draft";
import { isRefusal, lastSaid, olderThan, prepend, runningIn, signature, withUnsent, EMPTY, type Page, type Unsent } from "./stored";
import { makeChat, postAndLeave } from "./transport";
import { usePins } from "./usePins";
import { useQueue } from "./useQueue";
import { useSteady } from "./useSteady";

const THROTTLE_MS = 40;
const PAUSE_MS = 250;
const FOLLOW_TRIES = 20;
const OLDER = 100;
const FAR = 500;

const pause = (ms: number) => new Promise((resolve) => window.setTimeout(resolve, ms));

/**
 * Keeps one thread on screen. The stored thread is the truth: after every stream, reconnect, decision or sign of another
 * tab the last page is read again, and a run that is going on is followed.
 */
export function useThread(id: string) {
  const [page, setPage] = useState<Page>(EMPTY);
  const [problem, setProblem] = useState<Error>();
  const [returned, setReturned] = useState<Draft>();
  const [sentId, setSentId] = useState<string>();
  const failed = useRef<Error | undefined>(undefined);
  // In the order they were sent; what is a message of these is also kept in the browser.
  const unsent = useRef<Unsent[]>([]);
  const [waiting, setWaiting] = useState<Message[]>([]);
  const riding = useRef<Unsent | undefined>(undefined);
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

  const noteUnsent = useCallback(() => {
    const messages = unsent.current.flatMap(({ message }) => (message ? [message] : []));
    keepUnsent(id, messages);
    setWaiting(messages);
  }, [id]);

  const noteTaken = useCallback(
    (taken: Unsent) => {
      unsent.current = unsent.current.filter((one) => one !== taken);
      noteUnsent();
    },
    [noteUnsent],
  );

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
      if (failed.current) clearError();
    },
    [clearError],
  );

  /** Takes a refused message off the screen and hands it back to the input, words and files. */
  const giveBack = useCallback(
    (sent: Unsent, error: Error) => {
      noteTaken(sent);
      setProblem(error);
      const { message } = sent;
      if (!message) return;
      setMessages((old) => old.filter((other) => other.id !== message.id));
      setReturned(messageDraft(message));
    },
    [noteTaken, setMessages],
  );

  /** Sends what is not known to be taken. Behind a run that goes on it is queued, so that the run can be seen. */
  const deliver = useCallback(
    async (sent: Unsent, isRunning: boolean): Promise<void> => {
      if (isRunning && sent.message) {
        failed.current = await postAndLeave(id, sent.message).then(
          () => undefined,
          (error: Error) => error,
        );
        setMessages((old) => old.filter((other) => other.id !== sent.message?.id));
      } else {
        riding.current = sent;
        await ride(sent.send);
        riding.current = undefined;
      }
      // A stream that ended well was taken, though not all that is taken is stored as a message: an answer is not.
      if (!failed.current) noteTaken(sent);
      else if (isRefusal(failed.current)) giveBack(sent, failed.current);
    },
    [giveBack, id, noteTaken, ride, setMessages],
  );

  // The server answers nothing that it has not stored.
  useEffect(() => {
    if (chat.status === "streaming" && riding.current) noteTaken(riding.current);
  }, [chat.status, noteTaken]);

  const settle = useCallback(async (): Promise<void> => {
    try {
      for (;;) {
        const found = await readPage();
        if (gone.current || live.current) return;
        for (const taken of unsent.current.filter((one) => one.isTaken(found))) noteTaken(taken);
        const lost = unsent.current[0];
        if (!lost && !found.running) return;
        if (lost) await deliver(lost, found.running);
        else await ride(() => resumeStream());
        await pause(PAUSE_MS);
      }
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "offline") setProblem(error as Error);
    } finally {
      void refreshThreads();
    }
  }, [deliver, noteTaken, readPage, ride, resumeStream]);

  const sync = useCallback((): Promise<void> => {
    syncing.current ??= settle().finally(() => {
      syncing.current = undefined;
    });
    return syncing.current;
  }, [settle]);

  const queueUp = useCallback(
    (message: Message) => {
      unsent.current.push({
        message,
        isTaken: ({ messages }) => messages.some((one) => one.id === message.id),
        send: () => sendMessage(message),
      });
      noteUnsent();
    },
    [noteUnsent, sendMessage],
  );

  /** Takes a message at once: it is kept until the server has it, and shown meanwhile. */
  const send = useCallback(
    async (draft: Draft): Promise<boolean> => {
      setProblem(undefined);
      const message = draftMessage(draft);
      queueUp(message);
      setSentId(message.id);
      const sent = unsent.current[0];
      if (unsent.current.length > 1 || syncing.current || !sent) void Promise.resolve(syncing.current).then(sync);
      else void deliver(sent, false).then(() => failed.current && isRefusal(failed.current) ? undefined : sync());
      return true;
    },
    [deliver, queueUp, sync],
  );

  const retry = useCallback(async () => {
    setProblem(undefined);
    await syncing.current;
    const answer = lastSaid(client.messages)?.id;
    const key = newMessageId();
    const sent: Unsent = {
      isTaken: ({ messages, running }) =>
        running || messages.some((one) => one.id === answer && one.metadata?.replacedBy !== undefined),
      send: () => regenerate({ messageId: answer, body: { key } }),
    };
    unsent.current.push(sent);
    await deliver(sent, false);
    await sync();
  }, [client, deliver, regenerate, sync]);

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
      const found = await api.messages(id, first, OLDER);
      setMessages((old) => prepend(found.messages, old));
      setPage((now) => ({ ...now, hasMore: found.hasMore && found.messages.length > 0 }));
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "offline") setProblem(error as Error);
    }
  }, [first, id, setMessages]);

  /** Loads what lies between the end and a message; gives whether it is there. */
  const loadUntil = useCallback(
    async (messageId: string): Promise<boolean> => {
      const has = () => client.messages.some((message) => message.id === messageId);
      for (let hasMore = true; !has() && hasMore && !gone.current; ) {
        const found = await api.messages(id, client.messages[0]?.id, FAR);
        setMessages((old) => prepend(found.messages, old));
        setPage((now) => ({ ...now, hasMore: found.hasMore }));
        hasMore = found.hasMore;
      }
      return has();
    },
    [client, id, setMessages],
  );

  const stop = useCallback(async () => {
    await api.stop(id);
    await pause(3000);
    if (live.current) await chat.stop();
  }, [chat, id]);

  useEffect(() => {
    gone.current = false;
    for (const message of readUnsent(id)) queueUp(message);
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
    messages: useSteady(withUnsent(chat.messages, waiting), isLive),
    waiting,
    sentId,
    isBusy: isLive || page.running,
    isStreaming: chat.status === "streaming",
    isLost: connection === "offline",
    send,
    retry,
    stop,
    follow,
    loadOlder,
    loadUntil,
    sync,
  };
}

export type ThreadState = ReturnType<typeof useThread>;
