import { useState } from "react";
import { api } from "../api/api";
import type { AccessToken, Role, TeamUser } from "../api/types";
import { useLoad } from "../api/use";
import { loadSession, useMay, useSession } from "../app/session";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Confirm } from "../ui/Confirm";
import { CopyButton } from "../ui/CopyButton";
import { Problem, Show } from "../ui/State";
import { say, sayError } from "../ui/toast";
import { Page } from "./Page";

const ROLES: Role[] = ["guest", "member", "admin"];

export default function Team() {
  const t = useT();
  const { user } = useSession();
  const isAdmin = useMay("admin");
  return (
    <Page title={t("nav.team")} about={isAdmin ? t("team.about") : undefined}>
      {!user.isOwner && <You />}
      {isAdmin && <People />}
    </Page>
  );
}

/** Who is signed in: their tokens, their password, and the way out. */
function You() {
  const t = useT();
  const { user } = useSession();
  const own = useLoad(() => api.ownTokens(), "own");
  const leave = (everywhere: boolean) =>
    void api
      .logout(everywhere)
      .then(() => {
        // Whoever comes next sees nothing of what this page holds.
        window.location.hash = "";
        window.location.reload();
      })
      .catch(sayError);
  return (
    <section className="block">
      <h2>{t("team.you")}</h2>
      <div className="row wrap">
        <p className="grow">
          <strong>{user.name || user.id}</strong> <span className="faint mono">{user.id}</span>{" "}
          <span className="badge">{t(`team.role.${user.role}`)}</span>
        </p>
        <button type="button" className="button small" onClick={() => leave(false)}>
          {t("team.out")}
        </button>
        <button type="button" className="button small" onClick={() => leave(true)}>
          {t("team.out.all")}
        </button>
      </div>
      <h2>{t("team.tokens")}</h2>
      <p className="muted">{t("team.tokens.about")}</p>
      <Show from={own}>
        {(data) => (
          <Tokens
            tokens={data.tokens}
            make={(label) => api.makeToken(label)}
            revoke={(id) => api.revokeToken(id)}
            onChange={() => void own.reload()}
          />
        )}
      </Show>
      <Password />
    </section>
  );
}

function Password() {
  const t = useT();
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState<Error>();
  const change = async () => {
    try {
      await api.changePassword(current, password);
      // The session goes on under another cookie, whose value for changes is another too.
      await loadSession();
      setCurrent("");
      setPassword("");
      setProblem(undefined);
      say(t("team.password.changed"));
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void change();
      }}
    >
      <h2>{t("team.password.change")}</h2>
      <div className="row wrap">
        <Field word={t("team.password.current")} type="password" value={current} onChange={setCurrent} complete="current-password" />
        <Field word={t("team.password.new")} type="password" value={password} onChange={setPassword} complete="new-password" />
      </div>
      {problem && <Problem error={problem} />}
      <div>
        <button type="submit" className="button small" disabled={!current || password.length < 10}>
          {t("team.password.change")}
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  word: string;
  value: string;
  onChange: (value: string) => void;
  type?: string;
  complete?: string;
}

function Field({ word, value, onChange, type = "text", complete = "off" }: FieldProps) {
  return (
    <label className="field">
      <span>{word}</span>
      <input className="input" type={type} autoComplete={complete} value={value} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}

interface TokensProps {
  tokens: AccessToken[];
  make: (label: string) => Promise<{ token: string }>;
  revoke: (id: string) => Promise<void>;
  onChange: () => void;
}

/** The tokens of one person; the secret of a new one is shown until something else is done. */
function Tokens({ tokens, make, revoke, onChange }: TokensProps) {
  const t = useT();
  const format = useFormat();
  const [label, setLabel] = useState("");
  const [secret, setSecret] = useState("");
  const create = async () => {
    try {
      setSecret((await make(label)).token);
      setLabel("");
      onChange();
    } catch (error) {
      sayError(error);
    }
  };
  return (
    <div className="stack">
      {tokens.map((one) => (
        <div key={one.id} className="row wrap">
          <span className="grow">
            {one.label || <span className="mono">{one.id}</span>}{" "}
            <span className="faint">{one.usedAt ? t("team.token.used", { at: format.full(one.usedAt) }) : t("team.token.never")}</span>
          </span>
          <button type="button" className="button small danger" onClick={() => void revoke(one.id).catch(sayError).then(onChange)}>
            {t("team.token.revoke")}
          </button>
        </div>
      ))}
      {secret && (
        <div className="note" role="status">
          <div className="grow">
            <p>{t("team.token.once")}</p>
            <code className="mono">{secret}</code>
          </div>
          <CopyButton text={secret} />
        </div>
      )}
      <form
        className="row wrap"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <input
          className="input narrow"
          aria-label={t("team.token.label")}
          placeholder={t("team.token.label")}
          value={label}
          maxLength={80}
          onChange={(event) => setLabel(event.target.value)}
        />
        <button type="submit" className="button small">
          {t("team.token.make")}
        </button>
      </form>
    </div>
  );
}

function People() {
  const t = useT();
  const users = useLoad(() => api.users(), "users");
  const refresh = () => void Promise.all([users.reload(), loadSession()]);
  return (
    <section className="block">
      <h2>{t("team.people")}</h2>
      <Show from={users}>
        {(data) => (
          <>
            {data.users.length === 0 && <p className="faint">{t("team.none")}</p>}
            <ul className="cards">
              {data.users.map((one) => (
                <Person key={one.id} one={one} onChange={refresh} />
              ))}
            </ul>
          </>
        )}
      </Show>
      <NewPerson onDone={refresh} />
    </section>
  );
}

function Person({ one, onChange }: { one: TeamUser; onChange: () => void }) {
  const t = useT();
  const [isLeaving, setLeaving] = useState(false);
  const act = (work: Promise<unknown>) => void work.catch(sayError).then(onChange);
  return (
    <li className="card loose">
      <div className="row wrap">
        <p className="grow">
          <strong>{one.name || one.id}</strong> <span className="faint mono">{one.id}</span>{" "}
          {one.isForeign && <span className="badge">{t("team.foreign")}</span>}
          {one.disabled && <span className="badge warn">{t("team.disabled")}</span>}{" "}
          <span className="faint">{t("team.sessions", { n: one.sessions })}</span>
        </p>
        <select
          className="input narrow"
          aria-label={`${t("team.role")}: ${one.id}`}
          value={one.role}
          disabled={one.isForeign}
          onChange={(event) => act(api.changeUser(one.id, { role: event.target.value as Role }))}
        >
          {ROLES.map((role) => (
            <option key={role} value={role}>
              {t(`team.role.${role}`)}
            </option>
          ))}
        </select>
        <button type="button" className="button small" onClick={() => act(api.changeUser(one.id, { disabled: !one.disabled }))}>
          {t(one.disabled ? "team.enable" : "team.disable")}
        </button>
        <button type="button" className="button small danger" onClick={() => setLeaving(true)}>
          {t("team.remove")}
        </button>
      </div>
      <details>
        <summary>
          {t("team.tokens")} ({one.tokens.length})
        </summary>
        <Tokens
          tokens={one.tokens}
          make={(label) => api.giveToken(one.id, label)}
          revoke={(id) => api.takeToken(one.id, id)}
          onChange={onChange}
        />
      </details>
      {isLeaving && (
        <Confirm
          title={t("team.remove")}
          text={t("team.remove.sure", { name: one.name || one.id })}
          action={t("team.remove")}
          onClose={() => setLeaving(false)}
          onConfirm={() => {
            setLeaving(false);
            act(api.removeUser(one.id));
          }}
        />
      )}
    </li>
  );
}

function NewPerson({ onDone }: { onDone: () => void }) {
  const t = useT();
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("member");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState<Error>();
  const add = async () => {
    try {
      await api.addUser({ id: id.trim(), name, role, password: password || undefined });
      setId("");
      setName("");
      setPassword("");
      setProblem(undefined);
      onDone();
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <h2>{t("team.add")}</h2>
      <div className="row wrap">
        <Field word={t("team.name")} value={id} onChange={setId} />
        <Field word={t("team.shown")} value={name} onChange={setName} />
        <label className="field">
          <span>{t("team.role")}</span>
          <select className="input" value={role} onChange={(event) => setRole(event.target.value as Role)}>
            {ROLES.map((each) => (
              <option key={each} value={each}>
                {t(`team.role.${each}`)}
              </option>
            ))}
          </select>
        </label>
        <Field word={t("team.password")} type="password" value={password} onChange={setPassword} complete="new-password" />
      </div>
      <p className="faint">{t(`team.role.${role}.about`)}</p>
      {problem && <Problem error={problem} />}
      <div>
        <button type="submit" className="button small primary" disabled={!id.trim()}>
          {t("team.add")}
        </button>
      </div>
    </form>
  );
}
