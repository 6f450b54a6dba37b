import { useState } from "react";
import { api } from "../api/api";
import type { Skill } from "../api/types";
import { useChange } from "../api/live";
import { useLoad } from "../api/use";
import { OpenStudio } from "../dialog/OpenStudio";
import { useT } from "../i18n";
import { Markdown } from "../ui/Markdown";
import { Modal } from "../ui/Modal";
import { Empty, Show } from "../ui/State";
import { Page } from "./Page";

export default function Skills() {
  const t = useT();
  const [open, setOpen] = useState<string>();
  const [studio, setStudio] = useState<string>();
  const skills = useLoad(() => api.skills(), "skills");
  useChange(["files"], () => void skills.reload());
  return (
    <Page
      title={t("nav.skills")}
      about={t("skills.about")}
      actions={
        <button type="button" className="button" onClick={() => setStudio("")}>
          {t("studio.new")}
        </button>
      }
    >
      <Show from={skills}>
        {({ skills: all }) =>
          all.length === 0 ? (
            <Empty icon="spark" title={t("skills.none")}>
              {t("skills.none.text")}
            </Empty>
          ) : (
            <ul className="grid">
              {all.map((skill) => (
                <li key={skill.name}>
                  <SkillCard skill={skill} onOpen={() => setOpen(skill.name)} />
                </li>
              ))}
            </ul>
          )
        }
      </Show>
      {open && (
        <SkillText
          name={open}
          onClose={() => setOpen(undefined)}
          onStudio={() => {
            setOpen(undefined);
            setStudio(open);
          }}
        />
      )}
      {studio !== undefined && <OpenStudio skill={studio} onClose={() => setStudio(undefined)} />}
    </Page>
  );
}

function SkillCard({ skill, onOpen }: { skill: Skill; onOpen: () => void }) {
  const t = useT();
  const missing = Array.isArray(skill.missing) ? skill.missing.join(", ") : skill.missing;
  return (
    <button type="button" className="card" onClick={onOpen}>
      <span className="row wrap">
        <strong>{skill.name}</strong>
        {skill.always && <span className="badge accent">{t("skills.always")}</span>}
        {!skill.available && <span className="badge warn">{t("skills.missing", { what: missing ?? "" })}</span>}
      </span>
      <span className="muted">{skill.description}</span>
      <span className="faint">{t(`origin.${skill.source}`)}</span>
    </button>
  );
}

function SkillText({ name, onClose, onStudio }: { name: string; onClose: () => void; onStudio: () => void }) {
  const t = useT();
  const skill = useLoad(() => api.skill(name), name);
  return (
    <Modal title={name} onClose={onClose} wide>
      <Show from={skill}>{(data) => <Markdown text={data.text ?? ""} />}</Show>
      <div className="modal-actions">
        <button type="button" className="button" onClick={onStudio}>
          {t("studio.open")}
        </button>
      </div>
    </Modal>
  );
}
