import { useState } from "react";
import { api } from "../api/api";
import type { CrewMember, Mode } from "../api/types";
import { useT } from "../i18n";
import { Confirm } from "../ui/Confirm";
import { IconButton } from "../ui/IconButton";
import { sayError } from "../ui/toast";

interface Props {
  member: CrewMember;
  colour: string;
  onChange: () => void;
  onRemoved: (place: string) => void;
}

const MODES: Mode[] = ["read-only", "ask", "preview", "auto-edit", "yolo"];
const GREY = "#888888";
/** Writes a colour as a field for colours takes it. */
const whole = (colour: string | null) => (colour?.length === 4 ? colour.replace(/[0-9a-f]/gi, "$&$&") : (colour ?? GREY));

/** What a member is called, runs on and may do, to be changed; its variables by name. */
export function MemberFacts({ member, colour, onChange, onRemoved }: Props) {
  const t = useT();
  const [isLeaving, setLeaving] = useState(false);
  // Its settings are the workspace's.
  const isCaptain = member.id === "captain";
  const act = (work: Promise<unknown>) => void work.catch(sayError).then(onChange);
  return (
    <section className="card loose member-facts" aria-label={member.name || member.id}>
      <Naming key={`${member.name} ${member.colour}`} member={member} colour={colour} act={act} />
      <dl className="audit-facts">
        <dt className="faint">{t("members.id")}</dt>
        <dd className="mono">{member.id}</dd>
        <dt className="faint">{t("members.model")}</dt>
        <dd>{isCaptain ? t("members.model.shared") : <Model key={member.model} member={member} act={act} />}</dd>
        <dt className="faint">{t("members.mode")}</dt>
        <dd>{isCaptain ? t(`mode.name.${member.mode}`) : <Rights member={member} act={act} />}</dd>
        <dt className="faint">{t("members.tools")}</dt>
        <dd className={member.tools ? "mono" : ""}>{member.tools ? member.tools.join(", ") || t("members.tools.none") : t("members.tools.all")}</dd>
        <dt className="faint">{t("members.variables")}</dt>
        <dd>
          <Variables member={member} act={act} />
        </dd>
      </dl>
      {!isCaptain && (
        <p>
          <button type="button" className="button small danger" onClick={() => setLeaving(true)}>
            {t("members.remove")}
          </button>
        </p>
      )}
      {isLeaving && (
        <Confirm
          title={t("members.remove")}
          text={t("members.remove.sure", { name: member.name || member.id })}
          action={t("members.remove")}
          onClose={() => setLeaving(false)}
          onConfirm={() => {
            setLeaving(false);
            act(api.removeMember(member.id).then(({ place }) => onRemoved(place)));
          }}
        />
      )}
    </section>
  );
}

type Act = (work: Promise<unknown>) => void;

function Naming({ member, colour, act }: { member: CrewMember; colour: string; act: Act }) {
  const t = useT();
  const [name, setName] = useState(member.name);
  const [chosen, setChosen] = useState(whole(member.colour));
  const change = {
    ...(name.trim() !== member.name ? { name: name.trim() } : {}),
    ...(chosen !== whole(member.colour) ? { colour: chosen } : {}),
  };
  return (
    <form
      className="row wrap"
      onSubmit={(event) => {
        event.preventDefault();
        act(api.changeMember(member.id, change));
      }}
    >
      <i className="member-dot" style={{ background: colour }} aria-hidden="true" />
      <input className="input narrow" aria-label={t("members.name")} value={name} required maxLength={60} onChange={(event) => setName(event.target.value)} />
      <input type="color" className="colour" aria-label={t("members.colour")} value={chosen} onChange={(event) => setChosen(event.target.value)} />
      <button type="submit" className="button small" disabled={Object.keys(change).length === 0}>
        {t("members.change")}
      </button>
    </form>
  );
}

function Model({ member, act }: { member: CrewMember; act: Act }) {
  const t = useT();
  const [model, setModel] = useState(member.model ?? "");
  return (
    <form
      className="row wrap"
      onSubmit={(event) => {
        event.preventDefault();
        act(api.changeMember(member.id, { model: model.trim() }));
      }}
    >
      <input
        className="input narrow mono"
        aria-label={t("members.model")}
        placeholder={t("members.model.shared")}
        value={model}
        maxLength={200}
        onChange={(event) => setModel(event.target.value)}
      />
      <button type="submit" className="button small" disabled={model.trim() === (member.model ?? "")}>
        {t("members.model.use")}
      </button>
    </form>
  );
}

/** What it states itself; the workspace's binds as well. */
function Rights({ member, act }: { member: CrewMember; act: Act }) {
  const t = useT();
  return (
    <div className="row wrap">
      <select
        className="input"
        aria-label={t("members.mode")}
        value={member.ownMode ?? ""}
        onChange={(event) => act(api.changeMember(member.id, { mode: event.target.value as Mode | "" }))}
      >
        <option value="">{t("members.mode.shared", { mode: t(`mode.name.${member.mode}`) })}</option>
        {MODES.map((mode) => (
          <option key={mode} value={mode}>
            {t(`mode.name.${mode}`)}
          </option>
        ))}
      </select>
      {member.ownMode && member.ownMode !== member.mode && (
        <span className="faint">{t("members.mode.holds", { mode: t(`mode.name.${member.mode}`) })}</span>
      )}
    </div>
  );
}

/** Values go in and never come out. */
function Variables({ member, act }: { member: CrewMember; act: Act }) {
  const t = useT();
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  return (
    <>
      {member.variables.length === 0 && <span className="faint">{t("members.variables.none")}</span>}
      <ul className="chips">
        {member.variables.map((one) => (
          <li key={one} className="chip">
            <span className="mono truncate">{one}</span>
            <IconButton icon="cross" look="small" label={t("members.forget", { name: one })} onClick={() => act(api.forgetVariable(member.id, one))} />
          </li>
        ))}
      </ul>
      <form
        className="row wrap"
        onSubmit={(event) => {
          event.preventDefault();
          setValue("");
          act(api.setVariable(member.id, name.trim(), value).then(() => setName("")));
        }}
      >
        <input
          className="input narrow mono"
          aria-label={t("members.variable")}
          placeholder="API_KEY"
          value={name}
          maxLength={128}
          autoComplete="off"
          onChange={(event) => setName(event.target.value)}
        />
        <input
          className="input narrow"
          type="password"
          aria-label={t("members.value")}
          placeholder={t("members.value")}
          value={value}
          autoComplete="new-password"
          onChange={(event) => setValue(event.target.value)}
        />
        <button type="submit" className="button small" disabled={!name.trim() || !value}>
          {t("members.variable.add")}
        </button>
      </form>
    </>
  );
}
