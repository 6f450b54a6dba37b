import { useCallback, useEffect, useState } from "react";
import { api } from "../api/api";
import type { Noted, Pins } from "../api/types";
import { useT } from "../i18n";
import { say, sayError } from "../ui/toast";

const NONE: Pins = { pins: [], waiting: [] };

/** Keeps what is pinned in a thread, and opens its courses; `mark` changes when something happened there. */
export function usePins(threadId: string, mark: string, sync: () => Promise<void>) {
  const t = useT();
  const [held, setHeld] = useState<Pins>(NONE);

  const reload = useCallback(async () => {
    try {
      setHeld(await api.pins(threadId));
    } catch {
      // A list that cannot be read now is read again at the next change.
    }
  }, [threadId]);

  useEffect(() => {
    if (mark) void reload();
  }, [mark, reload]);

  const change = useCallback(
    async (act: () => Promise<Noted>, opened: "course.opened" | "course.summed" = "course.opened") => {
      try {
        const noted = await act();
        if (noted.waits) say(t("course.waits"));
        else if (noted.course) say(t(opened, { n: noted.course }));
      } catch (error) {
        sayError(error);
      }
      await Promise.all([reload(), sync()]);
    },
    [reload, sync, t],
  );

  return {
    ...held,
    compact: () => change(() => api.compact(threadId), "course.summed"),
    openCourse: () => change(() => api.openCourse(threadId)),
    pin: (text: string, messageId?: string) => change(() => api.pin(threadId, { text, messageId })),
    unpin: (number: number) => change(() => api.unpin(threadId, number)),
  };
}
