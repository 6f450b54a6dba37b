import { useState } from "react";
import { api } from "../api/api";
import { go } from "../app/route";
import { useSession } from "../app/session";
import { useT } from "../i18n";
import { Modal } from "../ui/Modal";
import { Problem } from "../ui/State";

/** Asks for a skill, there already or new, and who works on it; then opens its studio. */
export function OpenStudio({ skill, onClose }: { skill: string; onClose: () => void }) {
  const t = useT();
  const { members } = useSession();
  const [id, setId] = useState(skill);
  const [member, setMember] = useState(members[0]?.id ?? "captain");
  const [problem, setProblem] = useState<Error>();
  const open = () =>
    api.openStudio(id.trim(), member).then(
      ({ threadId }) => go("t", threadId),
      (error: Error) => setProblem(error),
    );
  return (
    <Modal title={t("studio")} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void open();
        }}
      >
        <p className="muted">{t("studio.about")}</p>
        <label className="field">
          <span>{t("studio.skill")}</span>
          <input className="input mono" value={id} required maxLength={64} placeholder="weekly-report" onChange={(event) => setId(event.target.value)} />
        </label>
        {members.length > 1 && (
          <label className="field">
            <span>{t("studio.member")}</span>
            <select className="input" value={member} onChange={(event) => setMember(event.target.value)}>
              {members.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.name || one.id}
                </option>
              ))}
            </select>
          </label>
        )}
        {problem && <Problem error={problem} />}
        <div className="modal-actions">
          <button type="button" className="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" className="button primary" disabled={!id.trim()}>
            {t("studio.open")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
