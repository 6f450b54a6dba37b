import { useState } from "react";
import { api } from "../api/api";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Empty, Show } from "../ui/State";
import { FileEditor } from "./FileEditor";
import { Page } from "./Page";

export default function Memory() {
  const t = useT();
  const format = useFormat();
  const [path, setPath] = useState<string>();
  const memory = useLoad(() => api.memory(), "memory");
  return (
    <Page title={t("nav.memory")} about={t("memory.about")}>
      <Show from={memory}>
        {({ files }) => {
          const shown = path ?? files[0]?.path;
          if (!shown) {
            return (
              <Empty icon="book" title={t("memory.none")}>
                {t("memory.none.text")}
              </Empty>
            );
          }
          return (
            <div className="split">
              <nav className="file-list" aria-label={t("files")}>
                {files.map((file) => (
                  <button key={file.path} type="button" aria-pressed={file.path === shown} onClick={() => setPath(file.path)}>
                    <span className="mono truncate grow">{file.path}</span>
                    <span className="faint numeric">{format.bytes(file.bytes)}</span>
                  </button>
                ))}
              </nav>
              <FileEditor
                key={shown}
                place={`memory/${shown}`}
                name={shown}
                load={() => api.memoryFile(shown)}
                save={(text, version) => api.saveMemoryFile(shown, text, version)}
                onSaved={() => void memory.reload()}
              />
            </div>
          );
        }}
      </Show>
    </Page>
  );
}
