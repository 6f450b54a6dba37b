import { useEffect, useRef, useState } from "react";
import { api } from "../api/api";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import { IconButton } from "../ui/IconButton";
import { Show } from "../ui/State";
import { ContextView } from "./ContextView";
import { TurnDiff } from "./TurnDiff";
import "../style/context.css";

interface Props {
  threadId: string;
  mark: number;
  onClose: () => void;
}

/** What the model reads at the next turn, beside the conversation. */
export default function ContextPanel({ threadId, mark, onClose }: Props) {
  const t = useT();
  const box = useRef<HTMLElement>(null);
  const [view, setView] = useState<"now" | "diff">("now");
  const context = useLoad(() => api.context(threadId), threadId);
  const { reload } = context;
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) void reload();
    first.current = false;
  }, [mark, reload]);
  useEffect(() => box.current?.focus(), []);
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
          <button type="button" aria-pressed={view === "now"} onClick={() => setView("now")}>
            {t("context.now")}
          </button>
          <button type="button" aria-pressed={view === "diff"} onClick={() => setView("diff")}>
            {t("context.diff")}
          </button>
        </div>
        <IconButton icon="cross" label={t("close")} onClick={onClose} />
      </header>
      <div className="context-body">
        <Show from={context}>
          {(data) => (view === "now" ? <ContextView context={data} /> : <TurnDiff key={data.turns.length} threadId={threadId} turns={data.turns} />)}
        </Show>
      </div>
    </aside>
  );
}
