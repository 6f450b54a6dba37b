import { getToolName } from "ai";
import { useState } from "react";
import { api } from "../api/api";
import { ApiError } from "../api/client";
import type { Message, RunChanges } from "../api/types";
import { useT } from "../i18n";
import { IconButton } from "../ui/IconButton";
import { Modal } from "../ui/Modal";
import { say, sayError } from "../ui/toast";
import { isToolPart } from "./toolPart";

const CHANGING = ["write", "edit", "exec"];

/** Tell whether an answer made calls that change files. */
export function changesFiles(message: Message): boolean {
  return message.parts.some(
    (part) => isToolPart(part) && part.state === "output-available" && CHANGING.includes(getToolName(part)),
  );
}

/** Put back what an answer changed, once a person has seen which files. */
export function Rewind({ run }: { run: string }) {
  const t = useT();
  const [changes, setChanges] = useState<RunChanges>();
  const look = () =>
    void api.runChanges(run).then(setChanges, (error: unknown) => {
      if (error instanceof ApiError && error.status === 404) say(t("rewind.none"));
      else sayError(error);
    });
  const action = t(changes?.isRewound ? "rewind.again" : "rewind");
  const rewind = () => {
    const done = changes?.isRewound ? "rewind.again.done" : "rewind.done";
    const count = changes?.files.length ?? 0;
    setChanges(undefined);
    void api.rewind(run).then(() => say(count === 1 ? t(`${done}.one`) : t(done, { n: count })), sayError);
  };
  return (
    <>
      <IconButton icon="restore" look="small" label={t("rewind")} onClick={look} />
      {changes && (
        <Modal title={action} onClose={() => setChanges(undefined)}>
          <p className="muted">{t(!changes.canRewind ? "rewind.not" : changes.isRewound ? "rewind.again.text" : "rewind.text")}</p>
          <ul className="rewind-files">
            {changes.files.map((file) => (
              <li key={file.path}>
                <span className="mono truncate">{file.path}</span>
                <span className={file.obstacle ? "badge bad" : "badge"}>
                  {t(file.obstacle ? `rewind.${file.obstacle}` : `rewind.${file.change}`)}
                </span>
              </li>
            ))}
          </ul>
          <div className="modal-actions">
            <button type="button" className="button" onClick={() => setChanges(undefined)}>
              {t("cancel")}
            </button>
            <button type="button" className="button danger" disabled={!changes.canRewind} onClick={rewind} data-focus>
              {action}
            </button>
          </div>
        </Modal>
      )}
    </>
  );
}
