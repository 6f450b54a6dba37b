import { useState } from "react";
import { useT } from "../i18n";
import { Confirm } from "../ui/Confirm";
import { Problem } from "../ui/State";
import type { OpenDocument } from "./useDocument";

/** Says what a person must know before a file is saved: a failure, a clash, or what an earlier visit left unsaved. */
export function DocumentNotes({ document }: { document: OpenDocument }) {
  const t = useT();
  return (
    <>
      {document.problem && <Problem error={document.problem} />}
      {document.isClash && (
        <div className="note warn row wrap" role="alert">
          <span className="grow">{t("clash")}</span>
          <button type="button" className="button small" onClick={() => void document.takeTheirs()}>
            {t("clash.theirs")}
          </button>
          <button type="button" className="button small" onClick={() => void document.keepMine()}>
            {t("clash.mine")}
          </button>
        </div>
      )}
      {document.isRestored && !document.isClash && (
        <p className="note" role="status">
          {t("draft.restored")}
        </p>
      )}
    </>
  );
}

/** The badge and the buttons that every editor has. */
export function DocumentActions({ document, name }: { document: OpenDocument; name: string }) {
  const t = useT();
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      {document.isChanged && (
        <button type="button" className="button small" onClick={() => setAsking(true)}>
          {t("draft.discard")}
        </button>
      )}
      <button type="button" className="button small primary" disabled={!document.isChanged || document.isClash} onClick={() => void document.save()}>
        {t("save")}
      </button>
      {isAsking && (
        <Confirm
          title={t("draft.discard")}
          text={t("draft.discard.text", { name })}
          action={t("draft.discard")}
          onClose={() => setAsking(false)}
          onConfirm={() => {
            setAsking(false);
            document.discard();
          }}
        />
      )}
    </>
  );
}
