import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Message } from "../api/types";
import { useT } from "../i18n";
import { Icon } from "../ui/Icon";
import { Loading } from "../ui/State";
import { ApproveAll, waitingIds } from "./Confirmation";
import { CourseMark, MessageView } from "./MessageView";
import { Primed } from "./Primed";
import type { ThreadState } from "./useThread";

const NEAR_PX = 80;

interface Props {
  thread: ThreadState;
  threadId: string;
  memberName: string;
}

/** The scrolling list of messages: sticks to the end while it is there, keeps its place when older ones arrive. */
export function Conversation({ thread, threadId, memberName }: Props) {
  const t = useT();
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const before = useRef<{ first: string | undefined; height: number }>({ first: undefined, height: 0 });
  const [isAway, setAway] = useState(false);
  const [isLoadingOlder, setLoadingOlder] = useState(false);
  const { messages, page, isBusy } = thread;
  const waiting = isBusy ? [] : waitingIds(messages);

  const toEnd = useCallback(() => {
    const element = box.current;
    if (element) element.scrollTop = element.scrollHeight;
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const first = messages[0]?.id;
    const isGrownAbove = before.current.first !== undefined && first !== before.current.first;
    if (isGrownAbove && !isAtEnd.current) element.scrollTop += element.scrollHeight - before.current.height;
    else if (isAtEnd.current) toEnd();
    before.current = { first, height: element.scrollHeight };
  }, [messages, toEnd]);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    // Opened cards, loaded pictures and a growing input all change the height without a new message.
    const watch = new ResizeObserver(() => {
      if (isAtEnd.current) toEnd();
    });
    watch.observe(element);
    if (element.firstElementChild) watch.observe(element.firstElementChild);
    return () => watch.disconnect();
  }, [toEnd]);

  const older = useCallback(() => {
    if (isLoadingOlder) return;
    setLoadingOlder(true);
    isAtEnd.current = false;
    void thread.loadOlder().finally(() => setLoadingOlder(false));
  }, [isLoadingOlder, thread]);

  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    const left = element.scrollHeight - element.scrollTop - element.clientHeight;
    isAtEnd.current = left < NEAR_PX;
    setAway(left > NEAR_PX * 4);
    if (element.scrollTop < NEAR_PX && page.hasMore) older();
  };

  return (
    <div className="conversation-frame">
      <div className="conversation" ref={box} onScroll={onScroll} tabIndex={0} aria-label={t("conversation")}>
        <div className="column" role="log" aria-live="polite" aria-busy={isBusy}>
          {!page.loaded && messages.length === 0 && <Loading />}
          {page.hasMore && (
            <button type="button" className="button small quiet older" onClick={older} disabled={isLoadingOlder}>
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
  const view = (message: Message) =>
    message.role === "system" ? (
      <CourseMark key={message.id} message={message} />
    ) : (
      <MessageView key={message.id} message={message} isLast={message === messages.at(-1)} {...rest} />
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
