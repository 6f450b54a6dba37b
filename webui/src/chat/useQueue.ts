import { useCallback, useEffect, useState } from "react";
import { api } from "../api/api";
import type { Queued } from "../api/types";
import { sayError } from "../ui/toast";
import { draftMessage, type Draft } from "./draft";
import { postAndLeave } from "./transport";

/** Keeps the messages that wait for the running turn: added, removed, or sent ahead to steer it. */
export function useQueue(threadId: string, isBusy: boolean, mark: string) {
  const [items, setItems] = useState<Queued[]>([]);

  const reload = useCallback(async () => {
    try {
      setItems((await api.queue(threadId)).queue);
    } catch {
      // A list that cannot be read now is read again at the next change.
    }
  }, [threadId]);

  useEffect(() => {
    if (isBusy) void reload();
    else setItems([]);
  }, [isBusy, mark, reload]);

  const change = useCallback(
    async (act: () => Promise<unknown>): Promise<boolean> => {
      try {
        await act();
        return true;
      } catch (error) {
        sayError(error);
        return false;
      } finally {
        void reload();
      }
    },
    [reload],
  );

  return {
    items,
    add: (draft: Draft) =>
      change(() =>
        draft.files.length ? postAndLeave(threadId, draftMessage(draft)) : api.enqueue(threadId, draft.text),
      ),
    remove: (messageId: string) => change(() => api.dequeue(threadId, messageId)),
    steer: (text: string) => change(() => api.steer(threadId, text)),
  };
}
