import { useMemo, useState } from "react";
import type { FileVersion } from "../api/types";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Diff } from "../ui/Diff";
import { Empty, Show } from "../ui/State";
import { diffLines } from "./lineDiff";
import type { OpenDocument } from "./useDocument";

interface Props {
  /** Names the file and its version: another one has another past. */
  name: string;
  load: () => Promise<{ versions: FileVersion[] }>;
  document: OpenDocument;
  /** Called when an earlier text was taken into the editor. */
  onTake: () => void;
}

/** The earlier texts of a file: what each would change, put back as a new version, and that undone. */
export function FileHistory({ name, load, document, onTake }: Props) {
  const t = useT();
  const format = useFormat();
  const found = useLoad(load, name);
  const [before, setBefore] = useState<string>();
  const restore = async (text: string, undo: string | undefined) => {
    if (await document.replace(text)) setBefore(undo);
  };
  return (
    <>
      {before !== undefined && (
        <div className="note good row wrap" role="status">
          <span className="grow">{t("history.restored")}</span>
          <button type="button" className="button small" onClick={() => void restore(before, undefined)}>
            {t("history.undo")}
          </button>
        </div>
      )}
      {document.isChanged && <p className="note warn">{t("history.unsaved")}</p>}
      <Show from={found}>
        {({ versions }) =>
          versions.length === 0 ? (
            <Empty icon="clock" title={t("history.none")} />
          ) : (
            <ul className="cards">
              {versions.map((one) => (
                <li key={`${one.at} ${one.version}`}>
                  <Version
                    version={one}
                    when={format.full(one.at)}
                    size={format.bytes(one.bytes)}
                    document={document}
                    onRestore={() => void restore(one.text, document.text)}
                    onTake={() => {
                      document.setText(one.text);
                      onTake();
                    }}
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Show>
    </>
  );
}

interface VersionProps {
  version: FileVersion;
  when: string;
  size: string;
  document: OpenDocument;
  onRestore: () => void;
  onTake: () => void;
}

function Version({ version, when, size, document, onRestore, onTake }: VersionProps) {
  const t = useT();
  const [isOpen, setOpen] = useState(false);
  // Compared when somebody looks: a file may have a hundred versions.
  const change = useMemo(() => (isOpen ? diffLines(document.text, version.text) : ""), [isOpen, document.text, version.text]);
  return (
    <details className="card" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="row">
        <span className="grow">{when}</span>
        <span className="faint numeric">{size}</span>
      </summary>
      {isOpen && (
        <>
          {change ? <Diff text={change} /> : <p className="muted">{t("history.same")}</p>}
          <details className="fold">
            <summary>{t("history.text")}</summary>
            <pre tabIndex={0}>{version.text}</pre>
          </details>
          <div className="row wrap">
            <button type="button" className="button small primary" disabled={document.isChanged || document.isClash || !change} onClick={onRestore}>
              {t("history.restore")}
            </button>
            <button type="button" className="button small" onClick={onTake}>
              {t("history.take")}
            </button>
          </div>
        </>
      )}
    </details>
  );
}
