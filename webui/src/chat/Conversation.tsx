import { useEffect } from "react";
import type { Message } from "../api/types";
import { useT } from "../i18n";
import { Icon } from "../ui/Icon";
import { Loading } from "../ui/State";
import { ApproveAll, waitingIds } from "./Confirmation";
import { CourseMark, MessageView } from "./MessageView";
import { PinMark } from "./Pins";
import { Primed } from "./Primed";
import { useScroll } from "./useScroll";
import { lastSaid, type ThreadState } from "./useThread";

interface Props {
  thread: ThreadState;
  threadId: string;
  memberName: string;
}

/** The scrolling list of messages. */
export function Conversation({ thread, threadId, memberName }: Props) {
  const t = useT();
  const { messages, page, isBusy } = thread;
  const first = page.hasMore ? messages[0]?.id : undefined;
  const { box, onScroll, toEnd, isAway, older, isLoadingOlder } = useScroll(first, thread.loadOlder);
  // What a person says is seen as it is sent, wherever they were reading.
  useEffect(() => {
    if (thread.sentId) toEnd();
  }, [thread.sentId]);
  const waiting = isBusy ? [] : waitingIds(messages);

  return (
    <div className="conversation-frame">
      <div className="conversation" ref={box} onScroll={onScroll} tabIndex={0} aria-label={t("conversation")}>
        <div className="column" role="log" aria-live="polite" aria-busy={isBusy}>
          {!page.loaded && messages.length === 0 && <Loading />}
          {page.hasMore && (
            <button type="button" className="button small quiet older" onClick={() => void older()} disabled={isLoadingOlder}>
              {t("older")}
            </button>
          )}
          <Messages messages={messages} hidePriming={page.hidePriming} thread={thread} threadId={threadId} memberName={memberName} />
          <ApproveAll
            ids={waiting}
            onDecided={() => thread.follow((found) => !waitingIds(found).some((id) => waiting.includes(id)))}
          />
          {isBusy && !thread.isStreaming && <Thinking label={t("thinking", { name: memberName })} />}
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

function Messages({ messages, hidePriming, ...rest }: Props & { messages: Message[]; hidePriming: boolean }) {
  const primed = messages.filter((message) => message.metadata?.sourceTag === "priming_script");
  const own = messages.filter((message) => message.metadata?.sourceTag !== "priming_script");
  const last = lastSaid(messages);
  const view = (message: Message) =>
    message.role === "system" ? (
      <SystemMark key={message.id} message={message} />
    ) : (
      <MessageView key={message.id} message={message} isLast={message === last} {...rest} />
    );
  return (
    <>
      {primed.length > 0 && (
        <Primed count={primed.length} isHidden={hidePriming}>
          {primed.map(view)}
        </Primed>
      )}
      {own.map(view)}
    </>
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
