import { useState } from "react";
import { api } from "../api/api";
import { useChange } from "../api/live";
import type { MemoryFile } from "../api/types";
import { useLoad } from "../api/use";
import { useRoute } from "../app/route";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Confirm } from "../ui/Confirm";
import { Icon } from "../ui/Icon";
import { Modal } from "../ui/Modal";
import { Empty, Problem, Show } from "../ui/State";
import { sayError } from "../ui/toast";
import { FileEditor } from "./FileEditor";
import { Page } from "./Page";

export default function Memory() {
  const t = useT();
  // A search leads to a file by its address.
  const asked = useRoute().pieces.join("/") || undefined;
  const [chosen, setPath] = useState<string>();
  const path = chosen ?? asked;
  const [isNew, setNew] = useState(false);
  const memory = useLoad(() => api.memory(), "memory");
  useChange(["files"], () => void memory.reload());
  const files = memory.data?.files ?? [];
  return (
    <Page
      title={t("nav.memory")}
      about={t("memory.about")}
      actions={
        <button type="button" className="button" onClick={() => setNew(true)}>
          <Icon name="plus" tiny />
          {t("memory.new")}
        </button>
      }
    >
      <Show from={memory}>
        {() => {
          const shown = files.find((file) => file.path === path) ?? files[0];
          return shown ? (
            <Files files={files} shown={shown} onChoose={setPath} reload={memory.reload} />
          ) : (
            <Empty icon="book" title={t("memory.none")}>
              {t("memory.none.text")}
            </Empty>
          );
        }}
      </Show>
      {isNew && (
        <NewFile
          onClose={() => setNew(false)}
          onMade={async (made) => {
            await memory.reload();
            setPath(made);
            setNew(false);
          }}
        />
      )}
    </Page>
  );
}

interface FilesProps {
  files: MemoryFile[];
  shown: MemoryFile;
  onChoose: (path: string) => void;
  reload: () => Promise<void>;
}

function Files({ files, shown, onChoose, reload }: FilesProps) {
  const t = useT();
  const format = useFormat();
  const [isAsking, setAsking] = useState(false);
  const remove = async () => {
    setAsking(false);
    await api.deleteMemoryFile(shown.path, shown.version ?? "").catch(sayError);
    await reload();
  };
  return (
    <div className="split">
      <nav className="file-list" aria-label={t("files")}>
        {files.map((file) => (
          <button key={file.path} type="button" aria-pressed={file.path === shown.path} onClick={() => onChoose(file.path)}>
            <span className="mono truncate grow">{file.path}</span>
            <span className="faint numeric">{format.bytes(file.bytes)}</span>
          </button>
        ))}
      </nav>
      <div className="stack">
        <FileEditor
          key={shown.path}
          place={`memory/${shown.path}`}
          name={shown.path}
          version={shown.version}
          load={() => api.memoryFile(shown.path)}
          save={(text, version) => api.saveMemoryFile(shown.path, text, version)}
          history={() => api.memoryFileHistory(shown.path)}
          onSaved={() => void reload()}
        />
        <div>
          <button type="button" className="button small danger" onClick={() => setAsking(true)}>
            {t("memory.delete")}
          </button>
        </div>
      </div>
      {isAsking && (
        <Confirm
          title={t("memory.delete.title", { name: shown.path })}
          text={t("memory.delete.text")}
          action={t("memory.delete")}
          onClose={() => setAsking(false)}
          onConfirm={() => void remove()}
        />
      )}
    </div>
  );
}

/** A name is all a new file needs; it lies in memory/ and is Markdown. */
function NewFile({ onClose, onMade }: { onClose: () => void; onMade: (path: string) => Promise<void> }) {
  const t = useT();
  const [name, setName] = useState("");
  const [problem, setProblem] = useState<Error>();
  const bare = name.trim().replace(/^memory\//, "").replace(/\.md$/, "");
  const create = async () => {
    const path = `memory/${bare}.md`;
    try {
      await api.saveMemoryFile(path, `# ${bare.split("/").at(-1) ?? bare}\n`, null);
      await onMade(path);
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <Modal title={t("memory.new")} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <label className="field">
          <span>{t("memory.name")}</span>
          <input className="input mono" data-focus value={name} placeholder={t("memory.name.hint")} onChange={(event) => setName(event.target.value)} />
        </label>
        {problem && <Problem error={problem} />}
        <div className="modal-actions">
          <button type="button" className="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" className="button primary" disabled={!bare}>
            {t("memory.create")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
