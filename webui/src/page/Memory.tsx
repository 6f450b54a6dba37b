import { useState } from "react";
import { api } from "../api/api";
import { useChange } from "../api/live";
import type { MemoryFile, MemoryItem } from "../api/types";
import { useLoad } from "../api/use";
import { link, useRoute } from "../app/route";
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
        {({ deleted }) => {
          const shown = files.find((file) => file.path === path) ?? files[0];
          return (
            <>
              {shown ? (
                <Files files={files} shown={shown} onChoose={setPath} reload={memory.reload} />
              ) : (
                <Empty icon="book" title={t("memory.none")}>
                  {t("memory.none.text")}
                </Empty>
              )}
              {deleted.length > 0 && (
                <Deleted
                  paths={deleted}
                  onRestored={async (restored) => {
                    await memory.reload();
                    setPath(restored);
                  }}
                />
              )}
            </>
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
        {shown.entries.length > 0 && <Entries entries={shown.entries} />}
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

/** What a file says, and where each piece of it comes from. */
function Entries({ entries }: { entries: MemoryItem[] }) {
  const t = useT();
  return (
    <details className="card" open={entries.length <= 12}>
      <summary className="row">
        <span className="grow">{t("memory.entries")}</span>
        <span className="faint numeric">{entries.length}</span>
      </summary>
      <ul className="cards">
        {entries.map((entry) => (
          <li key={entry.heading} className="row wrap">
            <span className="grow">{entry.heading}</span>
            {entry.isTainted && (
              <span className="badge warn" title={t("memory.tainted.hint")}>
                {t("memory.tainted")}
              </span>
            )}
            {entry.source ? (
              <>
                <span className="badge">{t(`memory.kind.${entry.kind}`)}</span>
                <span className="faint numeric">{entry.date}</span>
                <a href={link("t", entry.source)}>{t("memory.thread")}</a>
              </>
            ) : (
              <span className="faint">{t("memory.hand")}</span>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Files that were taken away, each with what it said last. */
function Deleted({ paths, onRestored }: { paths: string[]; onRestored: (path: string) => Promise<void> }) {
  const t = useT();
  const restore = async (path: string) => {
    try {
      const { versions } = await api.memoryFileHistory(path);
      const last = versions.find((version) => version.bytes > 0);
      if (last) await api.saveMemoryFile(path, last.text, null);
      await onRestored(path);
    } catch (error) {
      sayError(error as Error);
    }
  };
  return (
    <section className="stack" aria-label={t("memory.deleted")}>
      <h2>{t("memory.deleted")}</h2>
      {paths.map((path) => (
        <div key={path} className="row wrap">
          <span className="mono truncate grow">{path}</span>
          <button type="button" className="button small" aria-label={t("memory.restore", { name: path })} onClick={() => void restore(path)}>
            {t("history.restore")}
          </button>
        </div>
      ))}
    </section>
  );
}

type Where = "notes" | "project" | "user";
const WHERE: Where[] = ["notes", "project", "user"];

/** Names the file that is meant; in memory/ it may lie in a folder. */
function placeOf(where: Where, bare: string): string {
  if (where === "project") return ".ship/memory/project.md";
  return where === "user" ? `.ship/memory/users/${encodeURIComponent(bare)}.md` : `memory/${bare}.md`;
}

/** A name is all a new file needs; the project's has one. */
function NewFile({ onClose, onMade }: { onClose: () => void; onMade: (path: string) => Promise<void> }) {
  const t = useT();
  const [where, setWhere] = useState<Where>("notes");
  const [name, setName] = useState("");
  const [problem, setProblem] = useState<Error>();
  const bare = name.trim().replace(/^memory\//, "").replace(/\.md$/, "");
  const create = async () => {
    const path = placeOf(where, bare);
    try {
      await api.saveMemoryFile(path, where === "notes" ? `# ${bare.split("/").at(-1) ?? bare}\n` : "", null);
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
          <span>{t("memory.where")}</span>
          <select className="input" value={where} onChange={(event) => setWhere(event.target.value as Where)}>
            {WHERE.map((one) => (
              <option key={one} value={one}>
                {t(`memory.where.${one}`)}
              </option>
            ))}
          </select>
        </label>
        {where !== "project" && (
          <label className="field">
            <span>{t(where === "user" ? "memory.key" : "memory.name")}</span>
            <input
              className="input mono"
              data-focus
              value={name}
              placeholder={where === "user" ? "web.owner" : t("memory.name.hint")}
              onChange={(event) => setName(event.target.value)}
            />
          </label>
        )}
        {problem && <Problem error={problem} />}
        <div className="modal-actions">
          <button type="button" className="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" className="button primary" disabled={where !== "project" && !bare}>
            {t("memory.create")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
