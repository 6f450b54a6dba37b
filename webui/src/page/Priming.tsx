import "../style/script.css";
import { useState } from "react";
import { api } from "../api/api";
import type { BrokenScript, Script } from "../api/types";
import { useChange } from "../api/live";
import { useCell, useLoad } from "../api/use";
import { go, link, useRoute } from "../app/route";
import { useSession } from "../app/session";
import { NewPriming } from "../dialog/NewPriming";
import { useT } from "../i18n";
import { useReason } from "../i18n/reason";
import { useFormat } from "../i18n/format";
import { Icon } from "../ui/Icon";
import { Modal } from "../ui/Modal";
import { Empty, Show } from "../ui/State";
import { beginWith } from "./beginning";
import { draftChanges, readDraft, scriptKey } from "./draft";
import { Page } from "./Page";
import { PrimingScript } from "./PrimingScript";

export default function Priming() {
  const route = useRoute();
  const session = useSession();
  const [member, setMember] = useState(session.members[0]?.id ?? "");
  const reference = route.pieces.join("/");
  return reference ? (
    <PrimingScript key={reference} reference={reference} member={member} />
  ) : (
    <Library member={member} onMember={setMember} />
  );
}

function Library({ member, onMember }: { member: string; onMember: (member: string) => void }) {
  const t = useT();
  const session = useSession();
  const [isNew, setNew] = useState(false);
  const scripts = useLoad(() => api.scripts(member), member);
  useChange(["files"], () => void scripts.reload());
  const actions = (
    <>
      {session.members.length > 1 && (
        <select className="input narrow" aria-label={t("member")} value={member} onChange={(event) => onMember(event.target.value)}>
          {session.members.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name || one.id}
            </option>
          ))}
        </select>
      )}
      <button type="button" className="button" onClick={() => setNew(true)}>
        <Icon name="plus" tiny />
        {t("script.new")}
      </button>
    </>
  );
  return (
    <Page title={t("nav.priming")} about={t("priming.about")} actions={actions}>
      <Show from={scripts}>
        {(found) => (
          <>
            <BrokenScripts broken={found.broken} problems={found.problems} />
            {found.scripts.length === 0 && found.problems.length === 0 && (
              <Empty icon="script" title={t("priming.library.none")}>
                {t("priming.library.none.text")}
              </Empty>
            )}
            <ul className="cards">
              {found.scripts.map((script) => (
                <li key={script.scriptRef}>
                  <ScriptCard script={script} member={member} />
                </li>
              ))}
            </ul>
          </>
        )}
      </Show>
      {isNew && <NewPriming member={member} onClose={() => setNew(false)} />}
    </Page>
  );
}

function ScriptCard({ script, member }: { script: Script; member: string }) {
  const t = useT();
  const format = useFormat();
  const [isAsking, setAsking] = useState(false);
  useCell(draftChanges);
  const hasDraft = readDraft(scriptKey(script.scriptRef)) !== undefined;
  const begin = () => void beginWith(script.scriptRef, member);
  return (
    <div className="card row script-card">
      <div className="grow">
        <p className="row wrap">
          <a href={link("priming", script.scriptRef)}>
            <strong>{script.title ?? script.scriptRef}</strong>
          </a>
          <span className="badge">{t("priming.records", { n: script.records })}</span>
          {hasDraft && <span className="badge warn">{t("unsaved")}</span>}
          {script.updatedAt && <span className="faint">{format.short(script.updatedAt)}</span>}
        </p>
        <p className="mono faint script-path">{script.path}</p>
      </div>
      <button
        type="button"
        className="button small"
        onClick={() => (hasDraft ? setAsking(true) : begin())}
        aria-label={`${t("script.begin")}: ${script.scriptRef}`}
      >
        <Icon name="chat" tiny />
        {t("script.begin")}
      </button>
      {isAsking && (
        <Modal title={t("script.begin")} onClose={() => setAsking(false)}>
          <p className="muted">{t("script.draft.new")}</p>
          <div className="modal-actions">
            <button type="button" className="button" onClick={() => go("priming", script.scriptRef)}>
              {t("script.draft.open")}
            </button>
            <button type="button" className="button primary" onClick={begin} data-focus>
              {t("script.begin.stored")}
            </button>
          </div>
        </Modal>
      )}
    </div>
  );
}

/** The files that cannot be replayed, each with the reason; what is wrong beside them stands as it was told. */
export function BrokenScripts({ broken, problems }: { broken: BrokenScript[]; problems: string[] }) {
  const t = useT();
  const reason = useReason();
  const others = problems.filter((problem) => !broken.some((one) => problem.startsWith(`${one.path}:`)));
  if (problems.length === 0) return null;
  return (
    <section className="note bad script-broken" aria-label={t("script.broken.title", { n: problems.length })}>
      <Icon name="alert" />
      <div className="grow">
        <strong>{t("script.broken.title", { n: problems.length })}</strong>
        <ul>
          {broken.map((one) => (
            <li key={one.path}>
              {one.scriptRef ? <a href={link("priming", one.scriptRef)}>{one.path}</a> : <span className="mono">{one.path}</span>}
              <span>
                {one.line > 0 && `${t("script.line", { n: one.line })}: `}
                {reason(one.reason)}
              </span>
            </li>
          ))}
          {others.map((problem) => (
            <li key={problem}>{reason(problem)}</li>
          ))}
        </ul>
      </div>
    </section>
  );
}
