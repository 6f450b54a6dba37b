import { useState } from "react";
import { api } from "../api/api";
import { useLoad } from "../api/use";
import { useSession } from "../app/session";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { CopyButton } from "../ui/CopyButton";
import { Modal } from "../ui/Modal";
import { Empty, Show } from "../ui/State";
import { Page } from "./Page";

export default function Priming() {
  const t = useT();
  const format = useFormat();
  const session = useSession();
  const [member, setMember] = useState(session.members[0]?.id ?? "");
  const [open, setOpen] = useState<string>();
  const scripts = useLoad(() => api.scripts(member), member);
  const choice = session.members.length > 1 && (
    <select className="input narrow" aria-label={t("member")} value={member} onChange={(event) => setMember(event.target.value)}>
      {session.members.map((one) => (
        <option key={one.id} value={one.id}>
          {one.name || one.id}
        </option>
      ))}
    </select>
  );
  return (
    <Page title={t("nav.priming")} about={t("priming.about")} actions={choice}>
      <Show from={scripts}>
        {({ scripts: all }) =>
          all.length === 0 ? (
            <Empty icon="script" title={t("priming.library.none")}>
              {t("priming.library.none.text")}
            </Empty>
          ) : (
            <ul className="cards">
              {all.map((script) => (
                <li key={script.scriptRef}>
                  <button type="button" className="card" onClick={() => setOpen(script.scriptRef)}>
                    <span className="row wrap">
                      <strong>{script.title ?? script.scriptRef}</strong>
                      <span className="badge">{t("priming.records", { n: script.records })}</span>
                      {script.usedAt && <span className="badge accent">{t("priming.used", { at: format.short(script.usedAt) })}</span>}
                    </span>
                    <span className="mono faint">{script.path}</span>
                  </button>
                </li>
              ))}
            </ul>
          )
        }
      </Show>
      {open && <ScriptText reference={open} onClose={() => setOpen(undefined)} />}
    </Page>
  );
}

function ScriptText({ reference, onClose }: { reference: string; onClose: () => void }) {
  const script = useLoad(() => api.script(reference), reference);
  return (
    <Modal title={reference} onClose={onClose} wide>
      <Show from={script}>
        {(data) => (
          <>
            {data.problems.map((text) => (
              <p key={text} className="note warn">
                {text}
              </p>
            ))}
            <div className="data">
              <div className="data-head">
                <span>{data.title}</span>
                <CopyButton text={data.text} />
              </div>
              <pre className="tall" tabIndex={0}>
                {data.text}
              </pre>
            </div>
          </>
        )}
      </Show>
    </Modal>
  );
}
