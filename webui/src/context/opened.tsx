import { useEffect } from "react";
import { Cell } from "../api/client";
import { useCell } from "../api/use";
import { useT } from "../i18n";
import { IconButton } from "../ui/IconButton";

/** The message whose turn the context view shows; nothing while it is closed, "" for the next turn. */
export const openedMessage = new Cell<string | undefined>(undefined);

/** Whether the context view of a thread is open; another thread begins with it closed. */
export function useContextOpen(threadId: string): [boolean, (open: boolean) => void] {
  const opened = useCell(openedMessage);
  useEffect(() => () => openedMessage.set(undefined), [threadId]);
  return [opened !== undefined, (open) => openedMessage.set(open ? "" : undefined)];
}

/** Opens what the model read for a message. */
export function OpenContext({ messageId }: { messageId: string }) {
  const t = useT();
  return <IconButton icon="layers" look="small" label={t("context.open")} onClick={() => openedMessage.set(messageId)} />;
}
