import { useState } from "react";
import { api } from "../api/api";
import { refreshThreads } from "../api/threads";
import type { Script, Session } from "../api/types";
import { useLoad } from "../api/use";
import { preference } from "../app/preference";
import { go } from "../app/route";
import { useMay } from "../app/session";
import { useT } from "../i18n";
import { readDraft, scriptKey } from "../page/draft";
import { Modal } from "../ui/Modal";
import { Problem } from "../ui/State";
import { say } from "../ui/toast";
import { BrokenNote, PrimingSearch } from "./PrimingSearch";

const NONE = "";
const MORE = "\0more";

interface Choice {
  scriptRef: string;
  showInUi: boolean;
}

function remembered(member: string): Choice {
  try {
    const stored = JSON.parse(preference.get(`priming.${member}`) ?? "null") as Partial<Choice> | null;
    return { scriptRef: stored?.scriptRef ?? NONE, showInUi: stored?.showInUi ?? true };
  } catch {
    return { scriptRef: NONE, showInUi: true };
  }
}

export const scriptLabel = (script: Script): string =>
  script.title && !script.scriptRef.endsWith(`/${script.title}`)
    ? `${script.title} (${script.scriptRef})`
    : script.scriptRef;

/** Begins a dialog: with which member, primed by which script, and whether the script's messages are shown. */
export function NewDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const t = useT();
  const [member, setMember] = useState(preference.get("member") ?? session.members[0]?.id ?? "");
  const known = session.members.some((one) => one.id === member) ? member : (session.members[0]?.id ?? "");
  return (
    <Modal title={t("dialog.new")} onClose={onClose}>
      <label className="field">
        <span>{t("member")}</span>
        <select className="input" value={known} onChange={(event) => setMember(event.target.value)}>
          {session.members.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name && one.name !== one.id ? `${one.name} (${one.id})` : one.id}
            </option>
          ))}
        </select>
      </label>
      <p className="faint member-about">{session.members.find((one) => one.id === known)?.description}</p>
      <PrimingChoice key={known} member={known} onClose={onClose} />
    </Modal>
  );
}

function PrimingChoice({ member, onClose }: { member: string; onClose: () => void }) {
  const t = useT();
  const [choice, setChoice] = useState(() => remembered(member));
  const [chosen, setChosen] = useState<Script>();
  const [isSearching, setSearching] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const [isCreating, setCreating] = useState(false);
  const mayPrime = useMay("member");
  const recent = useLoad(() => (mayPrime ? api.recentPriming(member) : Promise.resolve({ scripts: [], problems: [], broken: [] })), member);
  const scripts = recent.data?.scripts ?? [];
  const listed = chosen && !scripts.some((one) => one.scriptRef === chosen.scriptRef) ? [chosen, ...scripts] : scripts;
  // A remembered script that is no longer among the recents is not chosen again by itself.
  const ref = listed.some((one) => one.scriptRef === choice.scriptRef) ? choice.scriptRef : NONE;

  const create = async () => {
    setCreating(true);
    setProblem(undefined);
    try {
      const made = await api.createThread({ member, priming: ref ? { scriptRefs: [ref], showInUi: choice.showInUi } : undefined });
      preference.set("member", member);
      preference.set(`priming.${member}`, JSON.stringify({ scriptRef: ref, showInUi: choice.showInUi }));
      made.problems.forEach((one) => say(one, true));
      await refreshThreads();
      onClose();
      go("t", made.threadId);
    } catch (error) {
      setProblem(error as Error);
      setCreating(false);
    }
  };

  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <label className="field">
        <span>{t("priming")}</span>
        <select
          className="input"
          value={isSearching ? MORE : ref}
          onChange={(event) => {
            setSearching(event.target.value === MORE);
            if (event.target.value !== MORE) setChoice({ ...choice, scriptRef: event.target.value });
          }}
        >
          <option value={NONE}>{t("priming.none")}</option>
          {listed.map((script) => (
            <option key={script.scriptRef} value={script.scriptRef}>
              {scriptLabel(script)}
            </option>
          ))}
          <option value={MORE}>{t("priming.more")}</option>
        </select>
      </label>
      {isSearching && (
        <PrimingSearch
          member={member}
          onClose={() => setSearching(false)}
          onChoose={(script) => {
            setChosen(script);
            setChoice({ ...choice, scriptRef: script.scriptRef });
            setSearching(false);
          }}
        />
      )}
      <label className="check">
        <input
          type="checkbox"
          checked={choice.showInUi}
          disabled={ref === NONE}
          onChange={(event) => setChoice({ ...choice, showInUi: event.target.checked })}
        />
        <span>{t("priming.show")}</span>
      </label>
      {ref !== NONE && readDraft(scriptKey(ref)) && <p className="note warn">{t("script.draft.new")}</p>}
      {!isSearching && <BrokenNote problems={recent.data?.problems ?? []} />}
      {(problem ?? recent.error) && <Problem error={(problem ?? recent.error) as Error} />}
      <div className="modal-actions">
        <button type="button" className="button" onClick={onClose}>
          {t("cancel")}
        </button>
        <button type="submit" className="button primary" disabled={isCreating || isSearching}>
          {t("dialog.create")}
        </button>
      </div>
    </form>
  );
}
