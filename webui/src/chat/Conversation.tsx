import { useEffect, useMemo, type ReactNode } from "react";
import type { Message } from "../api/types";
import { useMemberName } from "../app/session";
import { useT } from "../i18n";
import { Icon } from "../ui/Icon";
import { Loading } from "../ui/State";
import { useVirtual } from "../ui/useVirtual";
import { ApproveAll, waitingIds } from "./Confirmation";
import { handoffOf } from "./Crew";
import { FindBar } from "./FindBar";
import { CourseMark, MessageView } from "./MessageView";
import { PinMark } from "./Pins";
import { Primed } from "./Primed";
import { useFind } from "./useFind";
import { useScroll } from "./useScroll";
import { lastSaid } from "./stored";
import type { ThreadState } from "./useThread";
import { placesOf, type Place } from "./version";

interface Props {
  thread: ThreadState;
  threadId: string;
  memberId: string;
  memberName: string;
}

const PRIMED = "primed";
const isPrimed = (message: Message) => message.metadata?.sourceTag === "priming_script";

/** The scrolling list of messages: what is near the view is drawn, however long the thread. */
export function Conversation({ thread, threadId, memberId, memberName }: Props) {
  const t = useT();
  const { messages, page, isBusy } = thread;
  const first = page.hasMore ? messages[0]?.id : undefined;
  const { box, onScroll, toEnd, isAway, older, isLoadingOlder } = useScroll(first, thread.loadOlder);
  const waiting = useMemo(() => (isBusy ? [] : waitingIds(messages)), [isBusy, messages]);
  const primed = useMemo(() => messages.filter(isPrimed), [messages]);
  const places = useMemo(() => placesOf(messages.filter((message) => !isPrimed(message))), [messages]);
  const keys = useMemo(() => [...(primed.length > 0 ? [PRIMED] : []), ...places.map(({ key }) => key)], [primed, places]);
  const find = useFind(thread, box, places);
  const asking = useMemo(() => places.filter(({ message }) => waitingIds([message]).length > 0).map(({ key }) => key), [places]);
  const { drawn, isWhole } = useVirtual(keys, box, { guess: 160, gap: 20, pinned: [...asking, ...find.pinned] });

  // What a person says is seen as it is sent, wherever they were reading.
  useEffect(() => {
    if (thread.sentId) toEnd();
  }, [thread.sentId]);

  const last = lastSaid(messages);
  const next = handoffOf(last)?.to ?? memberId;
  const nextName = useMemberName(next);
  const view = ({ key, message, versions }: Place): ReactNode =>
    message.role === "system" ? (
      <SystemMark key={key} message={message} />
    ) : (
      <MessageView
        key={key}
        message={message}
        versions={versions}
        isLast={message === last}
        thread={thread}
        threadId={threadId}
        memberId={memberId}
        memberName={memberName}
      />
    );
  const row = (place: number): ReactNode => {
    const found = places[place - (primed.length > 0 ? 1 : 0)];
    if (found) return view(found);
    return (
      <Primed key={PRIMED} count={primed.length} isHidden={page.hidePriming}>
        {placesOf(primed).map(view)}
      </Primed>
    );
  };

  return (
    <div className="conversation-frame">
      <FindBar find={find} isNeeded={!isWhole || page.hasMore} />
      <div className="conversation" ref={box} onScroll={onScroll} tabIndex={0} role="group" aria-label={t("conversation")}>
        <div className="column" role="log" aria-live="polite" aria-busy={isBusy}>
          {!page.loaded && messages.length === 0 && <Loading />}
          {page.hasMore && (
            <button type="button" className="button small quiet older" onClick={() => void older()} disabled={isLoadingOlder}>
              {t("older")}
            </button>
          )}
          {drawn.map((one) => ("row" in one ? row(one.row) : <div key={one.key} className="room" style={{ height: one.room }} />))}
          <ApproveAll
            ids={waiting}
            onDecided={() => thread.follow((found) => !waitingIds(found).some((id) => waiting.includes(id)))}
          />
          {isBusy && !thread.isStreaming && <Thinking label={t("thinking", { name: next === memberId ? memberName : nextName })} />}
        </div>
      </div>
      {isAway && (
        <button type="button" className="to-end" onClick={toEnd} aria-label={t("toEnd")} title={t("toEnd")}>
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

function SystemMark({ message }: { message: Message }) {
  return message.parts.some((part) => part.type === "data-course") ? <CourseMark message={message} /> : <PinMark message={message} />;
}

function Thinking({ label }: { label: string }) {
  return (
    <div className="thinking">
      <span className="thinking-dots" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      <span className="faint">{label}</span>
    </div>
  );
}
