import { useEffect, useState } from "react";
import { ApiError } from "../api/client";
import type { FileText, FileVersion } from "../api/types";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Markdown } from "../ui/Markdown";
import { Empty, Problem, Show } from "../ui/State";
import { say } from "../ui/toast";

interface Props {
  name: string;
  load: () => Promise<FileText>;
  save: (text: string, version: string | null) => Promise<{ version: string }>;
  history?: () => Promise<{ versions: FileVersion[] }>;
  onSaved?: () => void;
}

type View = "edit" | "preview" | "history";

/** Edits one Markdown file. A file that changed on disk meanwhile is never overwritten unseen. */
export function FileEditor({ name, load, save, history, onSaved }: Props) {
  const t = useT();
  const [view, setView] = useState<View>("edit");
  const file = useLoad(load, name);
  const [text, setText] = useState("");
  const [version, setVersion] = useState<string | null>(null);
  const [problem, setProblem] = useState<Error>();
  const [isClash, setClash] = useState(false);
  const stored = file.data?.text ?? "";
  const isChanged = text !== stored;

  useEffect(() => {
    if (!file.data) return;
    setText(file.data.text);
    setVersion(file.data.version);
    setClash(false);
    setProblem(undefined);
  }, [file.data]);

  const keep = async () => {
    setProblem(undefined);
    try {
      await save(text, version);
      say(t("saved", { name }));
      await file.reload();
      onSaved?.();
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) setClash(true);
      else setProblem(error as Error);
    }
  };
  const takeMine = async () => {
    setVersion((await load()).version);
    setClash(false);
  };

  return (
    <section className="editor" aria-label={name}>
      <div className="editor-bar">
        <strong className="mono truncate">{name}</strong>
        {isChanged && <span className="badge warn">{t("unsaved")}</span>}
        <span className="grow" />
        <div className="segmented">
          {(["edit", "preview", ...(history ? ["history" as const] : [])] as View[]).map((one) => (
            <button key={one} type="button" aria-pressed={view === one} onClick={() => setView(one)}>
              {t(`editor.${one}`)}
            </button>
          ))}
        </div>
        <button type="button" className="button small primary" disabled={!isChanged || isClash} onClick={() => void keep()}>
          {t("save")}
        </button>
      </div>
      {problem && <Problem error={problem} />}
      {isClash && (
        <div className="note warn row wrap" role="alert">
          <span className="grow">{t("clash")}</span>
          <button type="button" className="button small" onClick={() => void file.reload()}>
            {t("clash.theirs")}
          </button>
          <button type="button" className="button small" onClick={() => void takeMine()}>
            {t("clash.mine")}
          </button>
        </div>
      )}
      {view === "edit" && (
        <textarea
          className="input mono editor-text"
          aria-label={name}
          value={text}
          spellCheck={false}
          onChange={(event) => setText(event.target.value)}
        />
      )}
      {view === "preview" && (
        <div className="editor-preview">{text.trim() ? <Markdown text={withoutFront(text)} /> : <Empty icon="file" title={t("file.empty")} />}</div>
      )}
      {view === "history" && history && (
        <History
          load={history}
          name={name}
          onRestore={(old) => {
            setText(old);
            setView("edit");
          }}
        />
      )}
    </section>
  );
}

function withoutFront(text: string): string {
  const match = /^---\n([\s\S]*?)\n---\n/.exec(text);
  return match ? `\`\`\`yaml\n${match[1] ?? ""}\n\`\`\`\n${text.slice(match[0].length)}` : text;
}

function History({ load, name, onRestore }: { load: NonNullable<Props["history"]>; name: string; onRestore: (text: string) => void }) {
  const t = useT();
  const format = useFormat();
  const found = useLoad(load, name);
  return (
    <Show from={found}>
      {({ versions }) =>
        versions.length === 0 ? (
          <Empty icon="clock" title={t("history.none")} />
        ) : (
          <ul className="cards">
            {versions.map((one) => (
              <li key={one.version}>
                <details className="card">
                  <summary className="row">
                    <span className="grow">{format.full(one.at)}</span>
                    <span className="faint numeric">{format.bytes(one.bytes)}</span>
                  </summary>
                  <pre tabIndex={0}>{one.text}</pre>
                  <button type="button" className="button small" onClick={() => onRestore(one.text)}>
                    {t("history.take")}
                  </button>
                </details>
              </li>
            ))}
          </ul>
        )
      }
    </Show>
  );
}
