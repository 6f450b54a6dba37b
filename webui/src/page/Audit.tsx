import { useState } from "react";
import { api } from "../api/api";
import type { Audit as AuditData, AuditEntry, AuditEvent } from "../api/types";
import { useLoad } from "../api/use";
import { link } from "../app/route";
import { useMemberName } from "../app/session";
import { useT, type Word } from "../i18n";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reason";
import { Icon } from "../ui/Icon";
import { IconButton } from "../ui/IconButton";
import { reveal } from "../ui/reveal";
import { Empty, Show } from "../ui/State";
import { sayError } from "../ui/toast";
import { Page } from "./Page";
import { OUTCOME_TONE, STATUS_TONE } from "./status";

export default function Audit() {
  const t = useT();
  const audit = useLoad(() => api.audit(), "audit");
  return (
    <Page
      title={t("nav.audit")}
      about={t("audit.about")}
      actions={<IconButton icon="retry" label={t("reload")} onClick={() => void audit.reload()} />}
    >
      {/* A reload begins again with the newest page. */}
      <Show from={audit}>{(data) => <Calls key={data.entries[0]?.seq ?? 0} first={data} />}</Show>
    </Page>
  );
}

function Calls({ first }: { first: AuditData }) {
  const t = useT();
  const [words, setWords] = useState("");
  const [older, setOlder] = useState<AuditEntry[]>([]);
  const [next, setNext] = useState(first.next);
  const [isLoading, setLoading] = useState(false);
  const entries = [...first.entries, ...older];

  const more = async () => {
    if (next === null) return;
    setLoading(true);
    try {
      const page = await api.audit(next);
      setOlder([...older, ...page.entries]);
      setNext(page.next);
    } catch (error) {
      sayError(error);
    }
    setLoading(false);
  };

  return (
    <>
      <Verified verified={first.verified} />
      {entries.length === 0 ? (
        <Empty icon="list" title={t("audit.none")}>
          {t("audit.none.text")}
        </Empty>
      ) : (
        <input
          className="input narrow"
          type="search"
          placeholder={t("filter")}
          aria-label={t("audit.filter")}
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
      )}
      <ul className="cards tight">
        {entries.filter((entry) => holds(entry, words)).map((entry) => (
          <li key={entry.seq}>
            <Entry entry={entry} />
          </li>
        ))}
      </ul>
      {next !== null && (
        <button type="button" className="button" disabled={isLoading} onClick={() => void more()}>
          {t("audit.older")}
        </button>
      )}
    </>
  );
}

/** Says whether the log is as it was written, and if not, where it breaks. */
function Verified({ verified }: { verified: AuditData["verified"] }) {
  const t = useT();
  const format = useFormat();
  const reason = useReason();
  if (verified.holds) {
    if (verified.entries === 0) return null;
    return (
      <p className="faint row">
        <Icon name="check" tiny /> {t("audit.holds", { n: format.number(verified.entries) })}
      </p>
    );
  }
  return (
    <div className="note bad" role="alert">
      <Icon name="alert" />
      <div className="grow">
        <p>{t("audit.breaks")}</p>
        <ul>
          {verified.breaks.map((found, index) => (
            <li key={index}>
              <code>{found.line ? `${found.file}:${found.line}` : found.file}</code> {reveal(reason(found.message))}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function Entry({ entry }: { entry: AuditEntry }) {
  const t = useT();
  const format = useFormat();
  const isCall = entry.kind === "call";
  return (
    <details className="card">
      <summary className="audit-row">
        <time className="faint numeric" dateTime={entry.at}>
          {format.full(entry.at)}
        </time>
        <span>
          <span className={`badge ${OUTCOME_TONE[entry.outcome] ?? ""}`}>{t(wordOf(entry.outcome))}</span>
        </span>
        <span className="mono truncate">
          <strong>{entry.tool}</strong> {reveal(entry.what)}
        </span>
        {entry.by && (
          <span className="muted truncate audit-basis">
            {t(`audit.by.${entry.by}`)} {reveal(entry.basis)}
          </span>
        )}
      </summary>
      {isCall && <pre tabIndex={0}>{reveal(entry.what)}</pre>}
      <ol className="audit-events" aria-label={t("audit.history")}>
        {entry.events.map((event, index) => (
          <li key={index}>
            <time className="faint numeric" dateTime={event.at}>
              {format.full(event.at)}
            </time>
            <span>{tell(event, t)}</span>
          </li>
        ))}
      </ol>
      {isCall && <Facts entry={entry} />}
    </details>
  );
}

function Facts({ entry }: { entry: AuditEntry }) {
  const t = useT();
  const member = useMemberName(entry.member);
  // When it was asked anew with another picture, the newest is what counted.
  const shown = entry.events.map((event) => event.shown).filter(Boolean).at(-1);
  return (
    <>
      <dl className="audit-facts">
        <dt className="faint">{t("audit.member")}</dt>
        <dd>{member}</dd>
        {entry.initiators.length > 0 && (
          <>
            <dt className="faint">{t("audit.initiators")}</dt>
            <dd>{reveal(entry.initiators.join(", "))}</dd>
          </>
        )}
        <dt className="faint">{t("audit.digest")}</dt>
        <dd className="mono">{entry.digest}</dd>
        {shown && (
          <>
            <dt className="faint">{t("audit.shown")}</dt>
            <dd className="mono">{shown}</dd>
          </>
        )}
      </dl>
      <p>
        <a href={link("t", entry.threadId)}>{t("approvals.thread")}</a>
      </p>
    </>
  );
}

/** Tells one event in a line: what it was, what it rests on, in which words. */
function tell(event: AuditEvent, t: (word: Word) => string): string {
  const pieces = [t(`audit.${event.event}`)];
  if (event.outcome) pieces.push(t(wordOf(event.outcome as AuditEntry["outcome"])));
  if (event.by) pieces.push(`${t(`audit.by.${event.by}`)} ${event.rule ?? event.who ?? event.grantId ?? ""}`.trim());
  if (event.words) pieces.push(`“${event.words}”`);
  if (event.reason) pieces.push(event.reason);
  return reveal(pieces.join(" · "));
}

function wordOf(outcome: AuditEntry["outcome"]): Word {
  return outcome in STATUS_TONE ? (`approval.${outcome}` as Word) : (`audit.${outcome}` as Word);
}

function holds(entry: AuditEntry, words: string): boolean {
  return JSON.stringify(entry).toLowerCase().includes(words.toLowerCase());
}
