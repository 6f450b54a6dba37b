import { useState } from "react";
import { api } from "../api/api";
import { link } from "../app/route";
import { useT } from "../i18n";
import { sayError } from "../ui/toast";
import { Conversation } from "./Conversation";
import { useThread } from "./useThread";

const STUDIO = "web:studio:";
/** Returns the skill whose studio a thread is. */
export const skillOf = (threadId: string) => (threadId.startsWith(STUDIO) ? threadId.slice(STUDIO.length) : undefined);

interface Who {
  memberId: string;
  memberName: string;
}

/** Beside a studio: what a member makes of the draft, in a thread of its own. */
export function TryOut({ skill, ...who }: { skill: string } & Who) {
  const t = useT();
  const [text, setText] = useState("");
  const [tried, setTried] = useState<string>();
  const send = () =>
    api.tryDraft(skill, text.trim()).then(({ threadId }) => {
      setTried(threadId);
      setText("");
    }, sayError);
  return (
    <aside className="try-out" aria-label={t("studio.try")}>
      <header>
        <h2>{t("studio.try")}</h2>
        <p className="faint">{t("studio.try.about", { skill })}</p>
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault();
            void send();
          }}
        >
          <input className="input grow" aria-label={t("studio.try.words")} value={text} onChange={(event) => setText(event.target.value)} />
          <button type="submit" className="button primary" disabled={!text.trim()}>
            {t("studio.try")}
          </button>
        </form>
      </header>
      {tried && <Tried key={tried} id={tried} {...who} />}
    </aside>
  );
}

function Tried({ id, memberId, memberName }: { id: string } & Who) {
  const t = useT();
  const thread = useThread(id);
  return (
    <>
      <Conversation thread={thread} threadId={id} memberId={memberId} memberName={memberName} />
      <p className="try-link">
        <a href={link("t", id)}>{t("crew.thread")}</a>
      </p>
    </>
  );
}
