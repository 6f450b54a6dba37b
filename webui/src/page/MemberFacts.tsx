import { useState } from "react";
import { api } from "../api/api";
import type { CrewMember } from "../api/types";
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

const GREY = "#888888";
/** Writes a colour as a field for colours takes it. */
const whole = (colour: string | null) => (colour?.length === 4 ? colour.replace(/[0-9a-f]/gi, "$&$&") : (colour ?? GREY));

/** What a member is called, runs on and may do; its variables by name. */
export function MemberFacts({ member, colour, onChange, onRemoved }: Props) {
  const t = useT();
  const [isLeaving, setLeaving] = useState(false);
  const act = (work: Promise<unknown>) => void work.catch(sayError).then(onChange);
  return (
    <section className="card loose member-facts" aria-label={member.name || member.id}>
      <Naming key={`${member.name} ${member.colour}`} member={member} colour={colour} act={act} />
      <dl className="audit-facts">
        <dt className="faint">{t("members.id")}</dt>
        <dd className="mono">{member.id}</dd>
        <dt className="faint">{t("members.model")}</dt>
        <dd className={member.model ? "mono" : ""}>{member.model ?? t("members.model.shared")}</dd>
        <dt className="faint">{t("members.mode")}</dt>
        <dd>{t(`mode.name.${member.mode}`)}</dd>
        <dt className="faint">{t("members.tools")}</dt>
        <dd className={member.tools ? "mono" : ""}>{member.tools ? member.tools.join(", ") || t("members.tools.none") : t("members.tools.all")}</dd>
        <dt className="faint">{t("members.variables")}</dt>
        <dd>
          <Variables member={member} act={act} />
        </dd>
      </dl>
      {member.id !== "captain" && (
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
