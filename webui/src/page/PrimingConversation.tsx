import type { Message } from "../api/types";
import { CourseMark } from "../chat/MessageView";
import { PartView, UnknownPart } from "../chat/PartView";
import { PinMark } from "../chat/Pins";
import { useT } from "../i18n";
import { Boundary } from "../ui/Boundary";
import { Empty } from "../ui/State";

/** A script as the conversation it is: what a dialog that begins with it would show. */
export function PrimingConversation({ messages, memberName }: { messages: Message[]; memberName: string }) {
  const t = useT();
  if (messages.length === 0) return <Empty icon="chat" title={t("script.nothing")} />;
  return (
    <div className="script-talk" role="log" aria-label={t("script.talk")}>
      {messages.map((message) => (
        <Boundary key={message.id} instead={<UnknownPart />}>
          <Said message={message} memberName={memberName} />
        </Boundary>
      ))}
    </div>
  );
}

function Said({ message, memberName }: { message: Message; memberName: string }) {
  const t = useT();
  if (message.role === "system") {
    const isCourse = message.parts.some((part) => part.type === "data-course");
    return isCourse ? <CourseMark message={message} /> : <PinMark message={message} />;
  }
  const isUser = message.role === "user";
  const parts = message.parts.map((part, index) => <PartView key={index} part={part} message={message} plain={isUser} />);
  return (
    <article className={`message ${message.role}`} aria-label={isUser ? t("from.you") : t("from.member", { name: memberName })}>
      {isUser ? (
        <div className="bubble">{parts}</div>
      ) : (
        <>
          <header className="message-head">
            <strong>{memberName}</strong>
          </header>
          {parts}
        </>
      )}
    </article>
  );
}
