import { useState } from "react";
import { api } from "../api/api";
import { useChange } from "../api/live";
import type { Mode, RuleNotes, Rules, RuleVerdict } from "../api/types";
import { useCell, useLoad } from "../api/use";
import { loadSession } from "../app/session";
import { language, useT } from "../i18n";
import { useReason } from "../i18n/reason";
import { Confirm } from "../ui/Confirm";
import { Problem, Show } from "../ui/State";
import { say } from "../ui/toast";
import { Page } from "./Page";

const MODES: Mode[] = ["ask", "preview", "auto-edit", "read-only", "yolo"];
const KINDS = ["deny", "ask", "allow"] as const;
const TOOLS = ["exec", "write", "read", "web_fetch"] as const;
const TONES = { allow: "good", ask: "warn", deny: "bad" } as const;

/** The rules as they stand in the fields: one a line. */
type Draft = { mode: Mode } & Record<(typeof KINDS)[number], string>;

const lines = (text: string) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function write(rules: Rules): Draft {
  return { mode: rules.mode, deny: rules.deny.join("\n"), ask: rules.ask.join("\n"), allow: rules.allow.join("\n") };
}

function read(draft: Draft): Rules {
  return { mode: draft.mode, deny: lines(draft.deny), ask: lines(draft.ask), allow: lines(draft.allow) };
}

/** What members may do unasked: read, changed, and tried out before it is saved. */
export default function Permissions() {
  const t = useT();
  const rules = useLoad(() => api.permissions(), "permissions");
  useChange(["files"], () => void rules.reload());
  return (
    <Page title={t("nav.permissions")} about={t("permissions.about")}>
      <Show from={rules}>{(stored) => <RuleEditor stored={stored} reload={rules.reload} />}</Show>
    </Page>
  );
}

function RuleEditor({ stored, reload }: { stored: Rules & RuleNotes; reload: () => Promise<void> }) {
  const t = useT();
  const reason = useReason();
  // Nothing until somebody writes: then it stays, whatever changes on disk.
  const [own, setOwn] = useState<Draft>();
  const [was, setWas] = useState<Rules>();
  const [problem, setProblem] = useState<Error>();
  const [isAsking, setAsking] = useState(false);
  const draft = own ?? write(stored);
  const isChanged = JSON.stringify(read(draft)) !== JSON.stringify(read(write(stored)));
  const change = (part: Partial<Draft>) => {
    if (!own) setWas({ mode: stored.mode, deny: stored.deny, ask: stored.ask, allow: stored.allow });
    setOwn({ ...draft, ...part });
  };
  const save = async (isSure: boolean) => {
    setAsking(false);
    setProblem(undefined);
    try {
      await api.savePermissions(read(draft), was ?? read(draft), isSure);
      await Promise.all([reload(), loadSession()]);
      setOwn(undefined);
      say(t("permissions.saved"));
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (draft.mode === "yolo" && stored.mode !== "yolo") setAsking(true);
          else void save(false);
        }}
      >
        <label className="field">
          <span>{t("permissions.mode")}</span>
          <select className="input" value={draft.mode} onChange={(event) => change({ mode: event.target.value as Mode })}>
            {MODES.map((mode) => (
              <option key={mode} value={mode}>
                {t(`mode.name.${mode}`)}
              </option>
            ))}
          </select>
        </label>
        {KINDS.map((kind) => (
          <label key={kind} className="field">
            <span>{t(`permissions.${kind}`)}</span>
            <textarea
              className="input mono"
              rows={Math.max(2, draft[kind].split("\n").length)}
              spellCheck={false}
              placeholder={t("permissions.hint")}
              value={draft[kind]}
              onChange={(event) => change({ [kind]: event.target.value })}
            />
          </label>
        ))}
        {stored.broken.length > 0 && !own && (
          <div className="note bad">
            <p>{t("permissions.broken")}</p>
            <ul>
              {stored.broken.map((one) => (
                <li key={one.rule}>
                  <code>{one.rule}</code> {reason(one.problem)}
                </li>
              ))}
            </ul>
          </div>
        )}
        {stored.notes.map((note) => (
          <p key={note} className="note">
            {reason(note)}
          </p>
        ))}
        {problem && <Problem error={problem} />}
        <div className="row wrap">
          <button type="submit" className="button primary" disabled={!isChanged}>
            {t("save")}
          </button>
          <button type="button" className="button" disabled={!own} onClick={() => setOwn(undefined)}>
            {t("draft.discard")}
          </button>
          {isChanged && <span className="badge warn">{t("unsaved")}</span>}
        </div>
      </form>
      <Trial rules={read(draft)} />
      {isAsking && (
        <Confirm
          title={t("mode.name.yolo")}
          text={t("permissions.yolo")}
          action={t("save")}
          onClose={() => setAsking(false)}
          onConfirm={() => void save(true)}
        />
      )}
    </>
  );
}

/** Judges one call by the rules as they stand in the fields. */
function Trial({ rules }: { rules: Rules }) {
  const t = useT();
  const reason = useReason();
  const chosen = useCell(language);
  const [tool, setTool] = useState<(typeof TOOLS)[number]>("exec");
  const [what, setWhat] = useState("");
  const [verdict, setVerdict] = useState<RuleVerdict>();
  const [problem, setProblem] = useState<Error>();
  const judge = async () => {
    setProblem(undefined);
    setVerdict(undefined);
    try {
      setVerdict(await api.tryPermissions({ tool, what, rules }));
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <section className="block">
      <h2>{t("permissions.try")}</h2>
      <p className="muted">{t("permissions.try.text")}</p>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void judge();
        }}
      >
        <div className="pair">
          <label className="field">
            <span>{t("permissions.tool")}</span>
            <select className="input" value={tool} onChange={(event) => setTool(event.target.value as typeof tool)}>
              {TOOLS.map((name) => (
                <option key={name} value={name}>
                  {t(`permissions.tool.${name}`)}
                </option>
              ))}
            </select>
          </label>
          <label className="field">
            <span>{t("permissions.what")}</span>
            <input className="input mono" value={what} placeholder="git status" onChange={(event) => setWhat(event.target.value)} />
          </label>
        </div>
        <div>
          <button type="submit" className="button" disabled={!what.trim()}>
            {t("permissions.judge")}
          </button>
        </div>
        <div aria-live="polite">
          {verdict && (
            <div className="note">
              <div className="grow">
                <p>
                  <span className={`badge ${TONES[verdict.action]}`}>{t(`verdict.${verdict.action}`)}</span> {verdict.why[chosen]}
                </p>
                {verdict.rule && <p className="faint">{t("permissions.rule", { rule: verdict.rule })}</p>}
                {verdict.broken.map((one) => (
                  <p key={one.rule} className="faint">
                    <code>{one.rule}</code> {reason(one.problem)}
                  </p>
                ))}
              </div>
            </div>
          )}
          {problem && <Problem error={problem} />}
        </div>
      </form>
    </section>
  );
}
