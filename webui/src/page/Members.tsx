import { useState } from "react";
import { api } from "../api/api";
import type { Member } from "../api/types";
import { useChange } from "../api/live";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Show } from "../ui/State";
import { FileEditor } from "./FileEditor";
import { Page } from "./Page";

export default function Members() {
  const t = useT();
  const members = useLoad(() => api.members(), "members");
  useChange(["files"], () => void members.reload());
  const [chosen, setChosen] = useState<string>();
  return (
    <Page title={t("nav.members")} about={t("members.about")}>
      <Show from={members}>
        {({ members: all }) => {
          const member = all.find((one) => one.id === chosen) ?? all[0];
          return (
            <>
              <ul className="member-list">
                {all.map((one) => (
                  <li key={one.id}>
                    <button type="button" className="card" aria-pressed={one.id === member?.id} onClick={() => setChosen(one.id)}>
                      <span className="row">
                        <strong>{one.name || one.id}</strong>
                        <span className="badge">{t(`kind.${one.kind}`)}</span>
                      </span>
                      <span className="faint">{one.description}</span>
                    </button>
                  </li>
                ))}
              </ul>
              {member && <Files key={member.id} member={member} />}
            </>
          );
        }}
      </Show>
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
