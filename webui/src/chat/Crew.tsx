import type { DataParts, Member, Message } from "../api/types";
import { link } from "../app/route";
import { useMemberName, useSession } from "../app/session";
import { useT, isWord } from "../i18n";
import { useFormat } from "../i18n/format";
import { CopyButton } from "../ui/CopyButton";
import { Icon } from "../ui/Icon";
import { Markdown } from "../ui/Markdown";
import { messageText } from "./draft";
import { PartView } from "./PartView";
import type { ToolPart } from "./Tool";

const SHADES = 8;
const DONE = ["replied", "asked"];

/** The colour a member chose; whoever chose none gets one by its place. */
export function colourOf(members: readonly Member[], id: string): string {
  const at = members.findIndex((one) => one.id === id);
  return members[at]?.colour ?? `var(--plot-${(Math.max(0, at) % SHADES) + 1})`;
}

/** A member's colour, and its name; alone on board nobody needs a colour. */
export function Speaker({ id, name }: { id: string; name?: string }) {
  const { members } = useSession();
  const called = useMemberName(id);
  return (
    <span className="speaker">
      {members.length > 1 && <i className="member-dot" style={{ background: colourOf(members, id) }} aria-hidden="true" />}
      <strong>{name ?? called}</strong>
    </span>
  );
}

export function handoffOf(message: Message | undefined): DataParts["handoff"] | undefined {
  const part = message?.role === "user" ? message.parts.find((one) => one.type === "data-handoff") : undefined;
  const data = part && "data" in part ? (part.data as Partial<DataParts["handoff"]> | null) : undefined;
  return typeof data?.from === "string" && typeof data.to === "string" ? (data as DataParts["handoff"]) : undefined;
}

/** Who passed the word to whom. */
export function Handoff({ message, handoff }: { message: Message; handoff: DataParts["handoff"] }) {
  const t = useT();
  const names = { from: useMemberName(handoff.from), to: useMemberName(handoff.to) };
  return (
    <p className="separator handoff" data-row={message.id} title={handoff.marker}>
      <span aria-hidden="true">
        <Speaker id={handoff.from} />→<Speaker id={handoff.to} />
      </span>
      <span className="hidden-visually">{t("crew.handoff", names)}</span>
    </p>
  );
}

/** What another member said here: a question it was sent with, or the answer to one. */
export function ColleagueMessage({ message, errand }: { message: Message; errand: Errand }) {
  const t = useT();
  const format = useFormat();
  const id = errand.chain?.at(-1) ?? "";
  const name = useMemberName(id);
  return (
    <article className="message colleague" data-row={message.id} aria-label={t("from.member", { name })}>
      <header className="message-head">
        <Speaker id={id} />
        <span className="faint">{t(errand.isAnswer ? "crew.answers" : "crew.asks")}</span>
        {message.metadata?.timestamp && <time>{format.time(message.metadata.timestamp)}</time>}
      </header>
      {message.parts.map((part, index) => (
        <PartView key={index} part={part} message={message} />
      ))}
      <p className="row wrap">
        <ThreadLink id={errand.threadId} />
        {errand.isTainted && <Tainted />}
        <CopyButton text={messageText(message)} label={t("copy.markdown")} />
      </p>
    </article>
  );
}

export type Errand = NonNullable<NonNullable<Message["metadata"]>["errand"]>;

interface Answered {
  member: string;
  thread: string;
  status: string;
  answer: string;
  tainted?: boolean;
}

/** What a colleague answered, if a call is a question to one and has an answer. */
export function answerOf(name: string, part: ToolPart): Answered | undefined {
  if (name !== "ask_member" || part.state !== "output-available") return undefined;
  const told = part.output as Partial<Answered> | null;
  const isWhole = [told?.member, told?.thread, told?.status, told?.answer].every((one) => typeof one === "string");
  return isWhole ? (told as Answered) : undefined;
}

/** A question to a colleague with its answer, and the way to where it worked. */
export function Asked({ input, told }: { input: unknown; told: Answered }) {
  const t = useT();
  const name = useMemberName(told.member);
  const asked = (input as { message?: unknown } | null)?.message;
  const status = `crew.status.${told.status}`;
  return (
    <section className="asked" aria-label={t("crew.asked", { name })}>
      <header className="row wrap">
        <Speaker id={told.member} />
        <span className={`badge ${DONE.includes(told.status) ? "good" : "warn"}`}>{isWord(status) ? t(status) : told.status}</span>
        {told.tainted && <Tainted />}
      </header>
      {typeof asked === "string" && <p className="muted asked-words">{asked}</p>}
      <div className="asked-answer" tabIndex={0} role="group" aria-label={t("crew.answer", { name })}>
        <Markdown text={told.answer} />
      </div>
      <ThreadLink id={told.thread} />
    </section>
  );
}

function ThreadLink({ id }: { id: string }) {
  const t = useT();
  return (
    <a className="asked-thread" href={link("t", id)}>
      <Icon name="chat" tiny />
      {t("crew.thread")}
    </a>
  );
}

function Tainted() {
  const t = useT();
  return (
    <span className="badge warn" title={t("crew.tainted.hint")}>
      {t("crew.tainted")}
    </span>
  );
}
