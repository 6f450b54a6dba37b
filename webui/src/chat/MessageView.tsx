import { memo, useState } from "react";
import { api } from "../api/api";
import type { DataParts, Message } from "../api/types";
import { go, link } from "../app/route";
import { useMemberName } from "../app/session";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { OpenContext } from "../context/opened";
import { CopyButton } from "../ui/CopyButton";
import { Icon } from "../ui/Icon";
import { reveal } from "../ui/reveal";
import { IconButton } from "../ui/IconButton";
import { sayError } from "../ui/toast";
import { readDraft } from "../page/draft";
import { ColleagueMessage, Handoff, Speaker, handoffOf } from "./Crew";
import { editKey, leaveFor, messageText } from "./draft";
import { EditMessage } from "./EditMessage";
import { PinFact } from "../dialog/PinFact";
import { PartView, StepList } from "./PartView";
import { Rewind, changesFiles } from "./Rewind";
import type { ThreadState } from "./useThread";
import { ToolFold, foldCalls } from "./ToolFold";
import { isToolPart } from "./toolPart";

interface Props {
  /** The answers this one replaced, and itself at the end. */
  versions: Message[];
  message: Message;
  isLast: boolean;
  thread: ThreadState;
  threadId: string;
  memberId: string;
  memberName: string;
}

export const MessageView = memo(
  function MessageView(props: Props) {
    const { message } = props;
    if (message.role !== "user") return <AssistantMessage {...props} />;
    const handoff = handoffOf(message);
    if (handoff) return <Handoff message={message} handoff={handoff} />;
    const errand = message.metadata?.errand;
    return errand ? <ColleagueMessage message={message} errand={errand} /> : <UserMessage {...props} />;
  },
  (before, after) =>
    before.message === after.message &&
    before.versions.length === after.versions.length &&
    before.isLast === after.isLast &&
    before.memberId === after.memberId &&
    before.memberName === after.memberName &&
    before.thread.waiting === after.thread.waiting &&
    before.thread.isLost === after.thread.isLost &&
    (!after.isLast || before.thread.isBusy === after.thread.isBusy),
);

function UserMessage({ message, thread, threadId }: Props) {
  const t = useT();
  const format = useFormat();
  const place = editKey(threadId, message.id);
  const [isEditing, setEditing] = useState(() => readDraft(place) !== undefined);
  const text = messageText(message);
  const isSpoken = message.metadata?.spoken === true;
  const isWaiting = thread.waiting.some((one) => one.id === message.id);
  const resend = async (words: string): Promise<boolean> => {
    try {
      const branch = await api.branch(threadId, message.id, words);
      // Words that were heard and then mended are not heard again.
      const files = isSpoken ? [] : message.parts.filter((part) => part.type === "file");
      leaveFor(branch.threadId, { text: words, files });
      go("t", branch.threadId);
      return true;
    } catch (error) {
      sayError(error);
      return false;
    }
  };
  // What no person said comes from a task.
  const task = /^(?:task|heartbeat):(.+)$/.exec(message.metadata?.sourceTag ?? "")?.[1];
  return (
    <article className="message user" data-row={message.id} aria-label={t(task ? "from.task" : "from.you")}>
      {task && (
        <a className="badge" href={link("tasks", task)}>
          <Icon name="clock" tiny />
          {reveal(task)}
        </a>
      )}
      {isEditing ? (
        <EditMessage place={place} text={text} onSend={resend} onClose={() => setEditing(false)} />
      ) : (
        <>
          <div className="bubble">
            {message.parts.map((part, index) => (
              <PartView key={index} part={part} message={message} plain />
            ))}
          </div>
          {isWaiting && thread.isLost && (
            <p className="faint row" role="status">
              <Icon name="clock" tiny />
              {t("message.waits")}
            </p>
          )}
          <footer className="message-tools">
            {isSpoken && (
              <span role="img" aria-label={t("voice.spoken")} title={t("voice.spoken")}>
                <Icon name="mic" tiny />
              </span>
            )}
            {message.metadata?.timestamp && <time>{format.time(message.metadata.timestamp)}</time>}
            {!task && <IconButton icon="edit" look="small" label={t("edit")} onClick={() => setEditing(true)} />}
            {text && <PinButton text={text} message={message} thread={thread} />}
            <CopyButton text={text} />
            <OpenContext messageId={message.id} />
          </footer>
        </>
      )}
    </article>
  );
}

function AssistantMessage({ message: newest, versions, isLast, thread, memberId, memberName }: Props) {
  const t = useT();
  const format = useFormat();
  const [chosen, setChosen] = useState<string>();
  const at = Math.max(0, versions.findIndex((one) => one.id === (chosen ?? newest.id)));
  // What was replaced is told by the thread; the newest is told as it is written.
  const message = at === versions.length - 1 ? newest : (versions[at] ?? newest);
  const turn = (by: number) => {
    const next = versions[at + by];
    if (next) setChosen(next.id === newest.id ? undefined : next.id);
  };
  const text = messageText(message);
  const speaker = message.metadata?.member ?? memberId;
  const known = useMemberName(speaker);
  const name = speaker === memberId ? memberName : known;
  const isOpen = isLast && thread.isBusy;
  const isWaiting = message.parts.some((part) => isToolPart(part) && part.state === "approval-requested");
  return (
    <article className="message assistant" data-row={versions[0]?.id} aria-label={t("from.member", { name })}>
      <header className="message-head">
        <Speaker id={speaker} name={name} />
        {message.metadata?.timestamp && <time>{format.time(message.metadata.timestamp)}</time>}
      </header>
      {foldCalls(message.parts).map((part, index) =>
        Array.isArray(part) ? (
          <ToolFold key={index} parts={part} message={message} />
        ) : (
          <PartView key={index} part={part} message={message} follow={thread.follow} />
        ),
      )}
      {versions.length > 1 && <Versions at={at} count={versions.length} onTurn={turn} />}
      {!isOpen && !isWaiting && (
        <footer className="message-tools">
          {message.metadata?.model && <span className="faint mono">{message.metadata.model}</span>}
          {text && <CopyButton text={text} label={t("copy.markdown")} />}
          {text && <PinButton text={text} message={message} thread={thread} />}
          {message.metadata?.runId && changesFiles(message) && <Rewind run={message.metadata.runId} />}
          <OpenContext messageId={message.id} />
          {isLast && <IconButton icon="retry" look="small" label={t("retry.answer")} onClick={() => void thread.retry()} />}
        </footer>
      )}
    </article>
  );
}

/** Leads through the answers to the same words. */
function Versions({ at, count, onTurn }: { at: number; count: number; onTurn: (by: number) => void }) {
  const t = useT();
  return (
    <div className="versions" role="group" aria-label={t("versions")}>
      <IconButton icon="back" look="small" label={t("versions.before")} disabled={at === 0} onClick={() => onTurn(-1)} />
      <span className="numeric faint">
        {at + 1} / {count}
      </span>
      <IconButton icon="chevron" look="small" label={t("versions.next")} disabled={at === count - 1} onClick={() => onTurn(1)} />
    </div>
  );
}

/** Pins what a message says, once the person has cut it down to the fact. */
function PinButton({ text, message, thread }: { text: string; message: Message; thread: ThreadState }) {
  const t = useT();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <IconButton icon="pin" look="small" label={t("pin")} onClick={() => setOpen(true)} />
      {isOpen && (
        <PinFact text={text} onPin={(words) => void thread.pins.pin(words, message.id)} onClose={() => setOpen(false)} />
      )}
    </>
  );
}

export function CourseMark({ message }: { message: Message }) {
  const t = useT();
  const part = message.parts.find((one) => one.type === "data-course");
  const course = part && "data" in part ? (part.data as DataParts["course"]) : undefined;
  // A course that was replayed into a first one begins nothing.
  if (!course || course.course < 2) return null;
  return (
    <section className="course" data-row={message.id}>
      <div className="separator">
        <span>{t("course", { n: course.course })}</span>
      </div>
      {course.steps && course.steps.length > 0 && <StepList steps={course.steps} />}
      {course.summary && (
        <details className="fold">
          <summary>
            {t("course.summary")}
            <Icon name="chevron" tiny />
          </summary>
          <p className="plain">{course.summary}</p>
        </details>
      )}
    </section>
  );
}
