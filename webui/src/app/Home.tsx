import { useState } from "react";
import { api } from "../api/api";
import { refreshThreads } from "../api/threads";
import type { Session } from "../api/types";
import { leaveFor, type Draft } from "../chat/draft";
import { PromptInput } from "../chat/PromptInput";
import { RehearsalNote } from "../chat/RehearsalNote";
import { useT, type Word } from "../i18n";
import mark from "../style/mark.svg";
import { Icon, type IconName } from "../ui/Icon";
import { Problem } from "../ui/State";
import { DrawerButton } from "./drawer";
import { preference } from "./preference";
import { go } from "./route";

const IDEAS: { icon: IconName; label: Word; text: Word }[] = [
  { icon: "help", label: "idea.help", text: "idea.help.text" },
  { icon: "file", label: "idea.files", text: "idea.files.text" },
  { icon: "shield", label: "idea.run", text: "idea.run.text" },
  { icon: "edit", label: "idea.write", text: "idea.write.text" },
];

/** The page before a thread is chosen: write, and a thread begins. */
export function Home({ session, onNew }: { session: Session; onNew: () => void }) {
  const t = useT();
  const [problem, setProblem] = useState<Error>();
  const chosen = preference.get("member");
  const member = session.members.find((one) => one.id === chosen) ?? session.members[0];
  const begin = async (draft: Draft): Promise<boolean> => {
    try {
      const made = await api.createThread({ member: member?.id });
      leaveFor(made.threadId, draft);
      go("t", made.threadId);
      void refreshThreads();
      return true;
    } catch (error) {
      setProblem(error as Error);
      return false;
    }
  };
  return (
    <div className="home">
      <div className="home-bar">
        <DrawerButton />
      </div>
      <div className="column home-inner">
        <img src={mark} alt="" width={52} height={52} />
        <h1>{t("home.title", { name: member?.name || member?.id || "" })}</h1>
        {member?.description && <p className="muted">{member.description}</p>}
        {problem && <Problem error={problem} />}
        <PromptInput
          placeholder={t("prompt", { name: member?.name || member?.id || "" })}
          place="home"
          isBusy={false}
          onSend={begin}
        />
        <RehearsalNote model={session.model} />
        <ul className="ideas">
          {IDEAS.map((idea) => (
            <li key={idea.label}>
              <button type="button" onClick={() => void begin({ text: t(idea.text), files: [] })}>
                <Icon name={idea.icon} />
                <span>
                  <strong>{t(idea.label)}</strong>
                  <span className="faint">{t(idea.text)}</span>
                </span>
              </button>
            </li>
          ))}
        </ul>
        <button type="button" className="button quiet small" onClick={onNew}>
          <Icon name="script" tiny />
          {t("home.primed")}
        </button>
      </div>
    </div>
  );
}
