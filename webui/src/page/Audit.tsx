import { useState } from "react";
import { api } from "../api/api";
import type { AuditEntry } from "../api/types";
import { useLoad } from "../api/use";
import { link } from "../app/route";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Diff, looksLikeDiff } from "../ui/Diff";
import { IconButton } from "../ui/IconButton";
import { Empty, Show } from "../ui/State";
import { Page } from "./Page";
import { brief, STATUS_TONE } from "./status";

export default function Audit() {
  const t = useT();
  const [words, setWords] = useState("");
  const audit = useLoad(() => api.audit(), "audit");
  return (
    <Page
      title={t("nav.audit")}
      about={t("audit.about")}
      actions={<IconButton icon="retry" label={t("reload")} onClick={() => void audit.reload()} />}
    >
      <Show from={audit}>
        {({ entries }) =>
          entries.length === 0 ? (
            <Empty icon="list" title={t("audit.none")} />
          ) : (
            <>
              <input
                className="input narrow"
                type="search"
                placeholder={t("filter")}
                aria-label={t("filter")}
                value={words}
                onChange={(event) => setWords(event.target.value)}
              />
              <Entries entries={entries.filter((entry) => JSON.stringify(entry).toLowerCase().includes(words.toLowerCase()))} />
            </>
          )
        }
      </Show>
    </Page>
  );
}

function Entries({ entries }: { entries: AuditEntry[] }) {
  return (
    <ul className="cards tight">
      {entries.map((entry, index) => (
        <li key={index}>
          <Entry entry={entry} />
        </li>
      ))}
    </ul>
  );
}

function Entry({ entry }: { entry: AuditEntry }) {
  const t = useT();
  const format = useFormat();
  const what = entry.what ?? "";
  return (
    <details className="card">
      <summary className="audit-row">
        <time className="faint numeric" dateTime={entry.at}>
          {format.full(entry.at)}
        </time>
        <span>
          <span className="muted">{t(`audit.${entry.kind}`)}</span>{" "}
          <span className={`badge ${STATUS_TONE[entry.outcome]}`}>{t(`approval.${entry.outcome}`)}</span>
        </span>
        <span className="mono truncate">
          <strong>{entry.tool}</strong> {brief(what)}
        </span>
      </summary>
      {looksLikeDiff(what) ? <Diff text={what} /> : <pre tabIndex={0}>{what}</pre>}
      <p className="faint">
        {entry.who && t("audit.by", { who: entry.who })}
        {entry.threadId && (
          <>
            {" · "}
            <a href={link("t", entry.threadId)}>{t("approvals.thread")}</a>
          </>
        )}
      </p>
    </details>
  );
}
