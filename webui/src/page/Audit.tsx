import { useState } from "react";
import { api } from "../api/api";
import type { AuditEntry } from "../api/types";
import { useLoad } from "../api/use";
import { link } from "../app/route";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { IconButton } from "../ui/IconButton";
import { Empty, Show } from "../ui/State";
import { Page } from "./Page";

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
  const t = useT();
  const format = useFormat();
  return (
    <div className="table" tabIndex={0}>
      <table className="data-table">
        <thead>
          <tr>
            <th>{t("audit.at")}</th>
            <th>{t("audit.kind")}</th>
            <th>{t("audit.what")}</th>
            <th>{t("audit.who")}</th>
            <th>{t("audit.outcome")}</th>
            <th>{t("audit.thread")}</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry, index) => (
            <tr key={index}>
              <td className="numeric nowrap">{format.full(entry.at)}</td>
              <td>{entry.kind}</td>
              <td>
                {entry.tool && <strong className="mono">{entry.tool} </strong>}
                <span className="audit-what">{entry.what}</span>
              </td>
              <td>{entry.who}</td>
              <td>{entry.outcome}</td>
              <td>{entry.threadId && <a href={link("t", entry.threadId)}>{t("open")}</a>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
