import { useMemo, useState } from "react";
import { api } from "../api/api";
import type { ScriptView } from "../api/types";
import { useChange } from "../api/live";
import { useLoad, type Loaded } from "../api/use";
import { link } from "../app/route";
import { useSession } from "../app/session";
import { useT } from "../i18n";
import { useReason } from "../i18n/reason";
import { CopyButton } from "../ui/CopyButton";
import { Icon } from "../ui/Icon";
import { Problem, Show } from "../ui/State";
import { beginWith } from "./beginning";
import { scriptKey } from "./draft";
import { FileHistory } from "./FileHistory";
import { Page } from "./Page";
import { PrimingConversation } from "./PrimingConversation";
import { PrimingEditor } from "./PrimingEditor";
import { PrimingMarks } from "./PrimingMarks";
import { PrimingRehearsal, RehearsalVerdict } from "./PrimingRehearsal";
import { PrimingUses } from "./PrimingUses";
import { useDocument, type OpenDocument } from "./useDocument";

const VIEWS = ["talk", "edit", "rehearsal", "history"] as const;
type View = (typeof VIEWS)[number];

/** One script: the conversation it is, its text, its rehearsals, its past, and where it was used. */
export function PrimingScript({ reference, member }: { reference: string; member: string }) {
  const script = useLoad(() => api.script(reference), reference);
  useChange(["files"], () => void script.reload());
  if (script.data) return <OpenScript script={script.data} loaded={script} member={member} />;
  return (
    <Page title={reference}>
      <Show from={script}>{() => null}</Show>
    </Page>
  );
}

function useScriptDocument(script: ScriptView, reload: () => Promise<void>): OpenDocument {
  const stored = useMemo(() => ({ text: script.text, version: script.digest }), [script]);
  return useDocument({
    key: scriptKey(script.scriptRef),
    name: script.scriptRef,
    stored,
    read: async () => {
      const found = await api.script(script.scriptRef);
      return { text: found.text, version: found.digest };
    },
    write: async (text, version) => (await api.saveScript(script.scriptRef, text, version)).digest,
    onStored: () => void reload(),
  });
}

function OpenScript({ script, loaded, member }: { script: ScriptView; loaded: Loaded<ScriptView>; member: string }) {
  const t = useT();
  const session = useSession();
  const reference = script.scriptRef;
  const document = useScriptDocument(script, loaded.reload);
  const last = useLoad(() => api.rehearsal(reference), reference);
  const canEdit = script.digest !== null;
  const isBroken = script.problems.length > 0 || !canEdit;
  const [view, setView] = useState<View>(canEdit && (isBroken || document.isChanged) ? "edit" : "talk");
  const owner = chooseMember(reference, member, script.applicableMemberIds);
  const memberName = session.members.find((one) => one.id === owner)?.name || owner;

  /** Whoever acts on a script acts on what stands in the editor. */
  const saveFirst = async () => {
    if (!document.isChanged) return true;
    const isSaved = await document.save();
    if (!isSaved) setView("edit");
    return isSaved;
  };
  const begin = async () => {
    if (await saveFirst()) await beginWith(reference, owner);
  };

  const actions = (
    <button
      type="button"
      className="button primary"
      disabled={(isBroken && !document.isChanged) || document.isClash}
      onClick={() => void begin()}
    >
      <Icon name="chat" tiny />
      {t(document.isChanged ? "script.begin.save" : "script.begin")}
    </button>
  );
  return (
    <Page title={script.title ?? reference} actions={actions}>
      <p className="row wrap script-place">
        <a href={link("priming")}>{t("nav.priming")}</a>
        <span className="mono faint">{script.path}</span>
        <CopyButton text={script.text} />
        {last.data && (
          <button type="button" className="link-quiet" onClick={() => setView("rehearsal")}>
            <RehearsalVerdict report={last.data} />
          </button>
        )}
      </p>
      {loaded.error && <Problem error={loaded.error} onRetry={() => void loaded.reload()} />}
      <Broken script={script} />
      <div className="segmented script-views">
        {VIEWS.map((one) => (
          <button key={one} type="button" aria-pressed={view === one} disabled={one === "edit" && !canEdit} onClick={() => setView(one)}>
            {t(`script.view.${one}`)}
          </button>
        ))}
      </div>
      {document.isChanged && view !== "edit" && <p className="note warn">{t("script.draft")}</p>}
      {view === "talk" && (
        <>
          {script.problems.length === 0 && <PrimingMarks marks={script.marks} />}
          <PrimingConversation messages={script.messages} memberName={memberName} />
          <PrimingUses uses={script.uses} />
        </>
      )}
      {view === "edit" && <PrimingEditor script={script} memberName={memberName} document={document} />}
      {view === "rehearsal" && (
        <PrimingRehearsal reference={reference} member={owner} last={last} isChanged={document.isChanged} saveFirst={saveFirst} />
      )}
      {view === "history" && (
        <>
          <FileHistory
            name={`${reference} ${script.digest ?? ""}`}
            load={() => api.scriptHistory(reference)}
            document={document}
            onTake={() => setView("edit")}
          />
          <PrimingUses uses={script.uses} />
        </>
      )}
    </Page>
  );
}

/** Someone's own script is theirs; one that is not for the chosen member is begun with the first it is for. */
function chooseMember(reference: string, member: string, applicable: string[]): string {
  const owner = /^individual\/([^/]+)\//.exec(reference)?.[1];
  return owner ?? (applicable.length === 0 || applicable.includes(member) ? member : (applicable[0] ?? member));
}

function Broken({ script }: { script: ScriptView }) {
  const t = useT();
  const reason = useReason();
  if (script.problems.length === 0) return null;
  return (
    <div className="note bad" role="alert">
      <Icon name="alert" />
      <div className="grow">
        <p>{t("script.broken")}</p>
        {script.digest === null && script.problems.map((problem) => <p key={problem}>{reason(problem)}</p>)}
      </div>
    </div>
  );
}
