import { useEffect, useRef, useState } from "react";
import { api } from "../api/api";
import type { KnownTurn, ThreadContext } from "../api/types";
import { useCell, useLoad } from "../api/use";
import { useT } from "../i18n";
import { IconButton } from "../ui/IconButton";
import { Empty, Show } from "../ui/State";
import { ContextView } from "./ContextView";
import { openedMessage } from "./opened";
import { TurnDiff } from "./TurnDiff";
import { TurnView } from "./TurnView";
import "../style/context.css";

interface Props {
  threadId: string;
  mark: number;
  onClose: () => void;
}

type View = "now" | "turn" | "diff";
const VIEWS: View[] = ["now", "turn", "diff"];

/** What the model reads at the next turn, and what it read at the turns before, beside the conversation. */
export default function ContextPanel({ threadId, mark, onClose }: Props) {
  const t = useT();
  const box = useRef<HTMLElement>(null);
  const message = useCell(openedMessage);
  const [view, setView] = useState<View>(message ? "turn" : "now");
  const context = useLoad(() => api.context(threadId), threadId);
  const { reload } = context;
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) void reload();
    first.current = false;
  }, [mark, reload]);
  useEffect(() => {
    if (message) setView("turn");
    box.current?.focus();
  }, [message]);
  return (
    <aside
      className="context"
      ref={box}
      tabIndex={-1}
      aria-label={t("context")}
      onKeyDown={(event) => event.key === "Escape" && onClose()}
    >
      <header className="context-head">
        <h2 className="grow">{t("context")}</h2>
        <div className="segmented">
          {VIEWS.map((one) => (
            <button key={one} type="button" aria-pressed={view === one} onClick={() => setView(one)}>
              {t(`context.${one}`)}
            </button>
          ))}
        </div>
        <IconButton icon="cross" label={t("close")} onClick={onClose} />
      </header>
      <div className="context-body">
        <Show from={context}>
          {(data) =>
            view === "now" ? (
              <ContextView context={data.now} onEarlier={async (before) => (await api.context(threadId, before)).now.history} />
            ) : data.turns.length === 0 ? (
              <Empty icon="layers" title={t("context.noTurns")}>
                {data.keeps ? undefined : t("context.off")}
              </Empty>
            ) : view === "turn" ? (
              <Turn key={`${message} ${data.turns.length}`} threadId={threadId} context={data} message={message ?? ""} />
            ) : (
              <TurnDiff key={data.turns.length} threadId={threadId} turns={data.turns} />
            )
          }
        </Show>
      </div>
    </aside>
  );
}

/** The turn that wrote a message, or the last that answered it. */
function findTurn(turns: KnownTurn[], message: string): KnownTurn | undefined {
  if (!message) return turns.at(-1);
  return turns.find((turn) => turn.messageId === message) ?? turns.filter((turn) => turn.askedId === message).at(-1);
}

function Turn({ threadId, context, message }: { threadId: string; context: ThreadContext; message: string }) {
  const t = useT();
  const found = findTurn(context.turns, message);
  return (
    <>
      {!found && (
        <p className="note warn">
          {context.keeps ? t("context.notKept", { days: context.keepDays, size: context.keepMegabytes }) : t("context.off")}
        </p>
      )}
      <TurnView threadId={threadId} turns={context.turns} first={found?.turn} />
    </>
  );
}
