import { useEffect, useState } from "react";
import type { FileText, FileVersion } from "../api/types";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import { Markdown } from "../ui/Markdown";
import { Empty, Show } from "../ui/State";
import { DocumentActions, DocumentNotes } from "./DocumentNotes";
import { FileHistory } from "./FileHistory";
import { useDocument } from "./useDocument";

interface Props {
  /** Names the file among all that can be edited here. */
  place: string;
  name: string;
  /** The version the list of files shows: another one is read. */
  version?: string | null;
  load: () => Promise<FileText>;
  save: (text: string, version: string | null) => Promise<{ version: string }>;
  history?: () => Promise<{ versions: FileVersion[] }>;
  onSaved?: () => void;
}

type View = "edit" | "preview" | "history";

/** Edits one Markdown file. */
export function FileEditor(props: Props) {
  const file = useLoad(props.load, props.place);
  const { reload } = file;
  const [seen, setSeen] = useState(props.version);
  useEffect(() => {
    if (props.version === seen) return;
    setSeen(props.version);
    void reload();
  }, [props.version, seen, reload]);
  return <Show from={file}>{(data) => <OpenFile key={props.place} {...props} file={data} reload={() => void reload()} />}</Show>;
}

function OpenFile({ place, name, load, save, history, onSaved, file, reload }: Props & { file: FileText; reload: () => void }) {
  const t = useT();
  const [view, setView] = useState<View>("edit");
  const document = useDocument({
    key: place,
    name,
    stored: file,
    read: load,
    write: async (text, version) => (await save(text, version)).version,
    onStored: () => {
      reload();
      onSaved?.();
    },
  });
  const { text } = document;
  return (
    <section className="editor" aria-label={name}>
      <div className="editor-bar">
        <strong className="mono truncate">{name}</strong>
        {document.isChanged && <span className="badge warn">{t("unsaved")}</span>}
        <span className="grow" />
        <div className="segmented">
          {(["edit", "preview", ...(history ? ["history" as const] : [])] as View[]).map((one) => (
            <button key={one} type="button" aria-pressed={view === one} onClick={() => setView(one)}>
              {t(`editor.${one}`)}
            </button>
          ))}
        </div>
        <DocumentActions document={document} name={name} />
      </div>
      <DocumentNotes document={document} />
      {view === "edit" && (
        <textarea
          className="input mono editor-text"
          aria-label={name}
          value={text}
          spellCheck={false}
          onChange={(event) => document.setText(event.target.value)}
        />
      )}
      {view === "preview" && (
        <div className="editor-preview">{text.trim() ? <Markdown text={withoutFront(text)} /> : <Empty icon="file" title={t("file.empty")} />}</div>
      )}
      {view === "history" && history && (
        <FileHistory name={`${place} ${file.version ?? ""}`} load={history} document={document} onTake={() => setView("edit")} />
      )}
    </section>
  );
}

function withoutFront(text: string): string {
  const match = /^---\n([\s\S]*?)\n---\n/.exec(text);
  return match ? `\`\`\`yaml\n${match[1] ?? ""}\n\`\`\`\n${text.slice(match[0].length)}` : text;
}
