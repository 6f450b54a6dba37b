import { useState } from "react";
import { api } from "../api/api";
import type { ScriptView } from "../api/types";
import { useLoad } from "../api/use";
import { link } from "../app/route";
import { useSession } from "../app/session";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { CopyButton } from "../ui/CopyButton";
import { Icon } from "../ui/Icon";
import { Show } from "../ui/State";
import { beginWith } from "./beginning";
import { Page } from "./Page";
import { PrimingConversation } from "./PrimingConversation";
import { PrimingEditor } from "./PrimingEditor";
import { PrimingMarks } from "./PrimingMarks";
import { PrimingRehearsal, RehearsalVerdict } from "./PrimingRehearsal";

const VIEWS = ["talk", "edit", "rehearsal"] as const;
type View = (typeof VIEWS)[number];

/** One script: the conversation it is, its text, its rehearsals, and where it was used. */
export function PrimingScript({ reference, member }: { reference: string; member: string }) {
  const t = useT();
  const session = useSession();
  const [view, setView] = useState<View>();
  const [wasEdited, setEdited] = useState(false);
  const script = useLoad(() => api.script(reference), reference);
  const last = useLoad(() => api.rehearsal(reference), reference);
  const owner = chooseMember(reference, member, script.data?.applicableMemberIds ?? []);
  const memberName = session.members.find((one) => one.id === owner)?.name || owner;
  const isBroken = script.data !== undefined && (script.data.problems.length > 0 || script.data.digest === null);
  const actions = (
    <button type="button" className="button primary" disabled={!script.data || isBroken} onClick={() => void beginWith(reference, owner)}>
      <Icon name="chat" tiny />
      {t("script.begin")}
    </button>
  );
  return (
    <Page title={script.data?.title ?? reference} actions={actions}>
      <p className="row wrap script-place">
        <a href={link("priming")}>{t("nav.priming")}</a>
        <span className="mono faint">{script.data?.path ?? reference}</span>
        {script.data && <CopyButton text={script.data.text} />}
        {last.data && (
          <button type="button" className="link-quiet" onClick={() => setView("rehearsal")}>
            <RehearsalVerdict report={last.data} />
          </button>
        )}
      </p>
      <Show from={script}>
        {(data) => {
          const shown = view ?? (isBroken && data.digest !== null ? "edit" : "talk");
          return (
            <>
              <Broken script={data} />
              <div className="segmented script-views">
                {VIEWS.map((one) => (
                  <button
                    key={one}
                    type="button"
                    aria-pressed={shown === one}
                    disabled={one === "edit" && data.digest === null}
                    onClick={() => {
                      setView(one);
                      setEdited(wasEdited || shown === "edit" || one === "edit");
                    }}
                  >
                    {t(`script.view.${one}`)}
                  </button>
                ))}
              </div>
              {shown === "talk" && (
                <>
                  {data.problems.length === 0 && <PrimingMarks marks={data.marks} />}
                  <PrimingConversation messages={data.messages} memberName={memberName} />
                </>
              )}
              {(shown === "edit" || wasEdited) && (
                // What was written stays while the other views are looked at.
                <div hidden={shown !== "edit"}>
                  <PrimingEditor script={data} memberName={memberName} reload={script.reload} />
                </div>
              )}
              {shown === "rehearsal" && <PrimingRehearsal reference={reference} member={owner} last={last} />}
              {shown === "talk" && <Uses uses={data.uses} />}
            </>
          );
        }}
      </Show>
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
  if (script.problems.length === 0) return null;
  return (
    <div className="note bad" role="alert">
      <Icon name="alert" />
      <div className="grow">
        <p>{t("script.broken")}</p>
        {script.digest === null && script.problems.map((problem) => <p key={problem}>{problem}</p>)}
      </div>
    </div>
  );
}

function Uses({ uses }: { uses: ScriptView["uses"] }) {
  const t = useT();
  const format = useFormat();
  return (
    <section className="script-uses" aria-labelledby="script-uses">
      <h2 id="script-uses">{t("script.uses")}</h2>
      {uses.length === 0 && <p className="faint">{t("script.unused")}</p>}
      <ul>
        {uses.map((use) => (
          <li key={use.threadId}>
            <a href={link("t", use.threadId)}>{use.title || t("untitled")}</a> <span className="faint">{format.full(use.at)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
