import { ApiError } from "../api/client";
import type { Session } from "../api/types";
import { link } from "../app/route";
import { useT } from "../i18n";
import { Empty, Problem } from "../ui/State";
import { ContextPanel } from "../context/lazy";
import { useContextOpen } from "../context/opened";
import { Conversation } from "./Conversation";
import { Pins } from "./Pins";
import { PromptInput } from "./PromptInput";
import { Queue } from "./Queue";
import { RehearsalNote } from "./RehearsalNote";
import { ThreadBar } from "./ThreadBar";
import { skillOf, TryOut } from "./TryOut";
import { useThread } from "./useThread";

export function ThreadView({ id, session }: { id: string; session: Session }) {
  const t = useT();
  const thread = useThread(id);
  const [isContextOpen, setContextOpen] = useContextOpen(id);
  const member = session.members.find((one) => one.id === thread.info?.member) ?? session.members[0];
  const memberName = member?.name || member?.id || t("member");
  const chosen = thread.info?.model;
  const skill = skillOf(id);

  if (thread.problem instanceof ApiError && thread.problem.status === 404) {
    return (
      <Empty icon="chat" title={t("thread.missing")}>
        <a href={link("")}>{t("thread.begin")}</a>
      </Empty>
    );
  }
  return (
    <>
      <ThreadBar
        id={id}
        thread={thread}
        memberId={member?.id ?? ""}
        memberName={memberName}
        isContextOpen={isContextOpen}
        onContext={() => setContextOpen(!isContextOpen)}
      />
      <div className="thread-split">
        <section className="thread-main" aria-label={t("conversation")}>
          <Pins held={thread.pins} />
          <Conversation thread={thread} threadId={id} memberId={member?.id ?? ""} memberName={memberName} />
          <footer className="composer">
            <div className="column">
              {thread.page.problems.map((text) => (
                <p key={text} className="note warn">
                  {text}
                </p>
              ))}
              {thread.problem && <Problem error={thread.problem} />}
              <Queue items={thread.queue.items} onRemove={(messageId) => void thread.queue.remove(messageId)} />
              <PromptInput
                placeholder={t(thread.isBusy ? "prompt.busy" : "prompt", { name: memberName })}
                place={id}
                isBusy={thread.isBusy}
                returned={thread.returned}
                onSend={(draft) => (thread.isBusy && !thread.isLost ? thread.queue.add(draft) : thread.send(draft))}
                onSteer={thread.queue.steer}
                onStop={() => void thread.stop()}
              />
              <RehearsalNote model={chosen ? { name: chosen, isRehearsal: chosen === "rehearsal" } : session.model} />
            </div>
          </footer>
        </section>
        {skill && !isContextOpen && <TryOut skill={skill} memberId={member?.id ?? ""} memberName={memberName} />}
        {isContextOpen && <ContextPanel threadId={id} mark={thread.messages.length} onClose={() => setContextOpen(false)} />}
      </div>
      <p className="hidden-visually" role="status" aria-live="polite">
        {thread.isBusy ? t("thinking", { name: memberName }) : thread.info?.pendingApprovals ? t("waiting") : ""}
      </p>
    </>
  );
}
