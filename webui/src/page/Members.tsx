import { useState } from "react";
import { api } from "../api/api";
import type { Member } from "../api/types";
import { useChange } from "../api/live";
import { useLoad } from "../api/use";
import { go, useRoute } from "../app/route";
import { loadSession } from "../app/session";
import { colourOf } from "../chat/Crew";
import { NewMember } from "../dialog/NewMember";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Show } from "../ui/State";
import { CrewRelations } from "./CrewRelations";
import { FileEditor } from "./FileEditor";
import { MemberFacts } from "./MemberFacts";
import { Page } from "./Page";

export default function Members() {
  const t = useT();
  const { query } = useRoute();
  const crew = useLoad(() => api.members(), "members");
  useChange(["files"], () => void crew.reload());
  const [isAdding, setAdding] = useState(false);
  const [removed, setRemoved] = useState("");
  const isRelations = query.get("view") === "relations";
  // The rest of the page knows members by the session.
  const onChange = () => void Promise.all([crew.reload(), loadSession()]);
  const open = (key: string, value: string) => (window.location.hash = `#/members?${new URLSearchParams({ [key]: value })}`);
  return (
    <Page
      title={t("nav.members")}
      about={t("members.about")}
      actions={
        <button type="button" className="button" onClick={() => setAdding(true)}>
          {t("members.add")}
        </button>
      }
    >
      <div className="segmented" role="group" aria-label={t("members.view")}>
        <button type="button" aria-pressed={!isRelations} onClick={() => go("members")}>
          {t("nav.members")}
        </button>
        <button type="button" aria-pressed={isRelations} onClick={() => open("view", "relations")}>
          {t("relations")}
        </button>
      </div>
      {removed && (
        <p className="note" role="status">
          {t("members.removed", { place: removed })}
        </p>
      )}
      <Show from={crew}>
        {(data) => {
          if (isRelations) return <CrewRelations crew={data} onChange={onChange} />;
          const all = data.members;
          const member = all.find((one) => one.id === query.get("member")) ?? all[0];
          return (
            <>
              <ul className="member-list">
                {all.map((one) => (
                  <li key={one.id}>
                    <button type="button" className="card" aria-pressed={one.id === member?.id} onClick={() => open("member", one.id)}>
                      <span className="row">
                        <i className="member-dot" style={{ background: colourOf(all, one.id) }} aria-hidden="true" />
                        <strong className="truncate">{one.name || one.id}</strong>
                        <span className="badge">{t(`kind.${one.kind}`)}</span>
                      </span>
                      <span className="faint">{one.description}</span>
                    </button>
                  </li>
                ))}
              </ul>
              {member && (
                <MemberFacts key={`facts ${member.id}`} member={member} colour={colourOf(all, member.id)} onChange={onChange} onRemoved={setRemoved} />
              )}
              {member && <Files key={member.id} member={member} />}
            </>
          );
        }}
      </Show>
      {isAdding && (
        <NewMember
          onClose={() => setAdding(false)}
          onMade={(made) => {
            setAdding(false);
            onChange();
            open("member", made.id);
          }}
        />
      )}
    </Page>
  );
}

function Files({ member }: { member: Member }) {
  const t = useT();
  const format = useFormat();
  const files = useLoad(() => api.memberFiles(member.id), member.id);
  useChange(["files"], () => void files.reload());
  const [name, setName] = useState<string>();
  return (
    <Show from={files}>
      {({ files: all }) => {
        const shown = name ?? all.find((file) => file.exists)?.name ?? all[0]?.name;
        return (
          <div className="split">
            <nav className="file-list" aria-label={t("files")}>
              {all.map((file) => (
                <button key={file.name} type="button" aria-pressed={file.name === shown} onClick={() => setName(file.name)}>
                  <span className="mono truncate grow">{file.name}</span>
                  <span className="faint numeric">{file.exists ? format.bytes(file.bytes) : t("file.new")}</span>
                </button>
              ))}
            </nav>
            {shown && (
              <FileEditor
                key={shown}
                place={`member/${member.id}/${shown}`}
                name={shown}
                version={all.find((file) => file.name === shown)?.version}
                load={async () =>
                  all.find((file) => file.name === shown)?.exists
                    ? api.memberFile(member.id, shown)
                    : { name: shown, text: "", version: null }
                }
                save={(text, version) => api.saveMemberFile(member.id, shown, text, version)}
                history={() => api.memberFileHistory(member.id, shown)}
                onSaved={() => void files.reload()}
              />
            )}
          </div>
        );
      }}
    </Show>
  );
}
