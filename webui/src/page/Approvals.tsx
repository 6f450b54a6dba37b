import { api } from "../api/api";
import { useChange } from "../api/live";
import type { Approval, Grant } from "../api/types";
import { useLoad } from "../api/use";
import { link } from "../app/route";
import { useMay } from "../app/session";
import { ApprovalCard, ApproveAll, Preview } from "../chat/Confirmation";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Empty, Show } from "../ui/State";
import { sayError } from "../ui/toast";
import { Page } from "./Page";
import { brief, STATUS_TONE } from "./status";

export default function Approvals() {
  const t = useT();
  const approvals = useLoad(() => api.approvals(), "approvals");
  const isAdmin = useMay("admin");
  const grants = useLoad(() => (isAdmin ? api.grants() : Promise.resolve({ grants: [] })), "grants");
  const reload = async () => {
    await Promise.all([approvals.reload(), grants.reload()]);
  };
  useChange(["approvals"], () => void reload());
  return (
    <Page
      title={t("nav.approvals")}
      about={t("approvals.about")}
      actions={
        <a className="button" href={link("permissions")}>
          {t("nav.permissions")}
        </a>
      }
    >
      <Show from={approvals}>
        {({ approvals: all }) => (
          <>
            <Pending items={all.filter((one) => one.status === "requested")} onDecided={reload} />
            {isAdmin && (
              <>
                <h2>{t("grants")}</h2>
                <Show from={grants}>{(data) => <Grants items={data.grants} onChange={() => void grants.reload()} />}</Show>
              </>
            )}
            <Past items={all.filter((one) => one.status !== "requested")} />
          </>
        )}
      </Show>
    </Page>
  );
}

function Pending({ items, onDecided }: { items: Approval[]; onDecided: () => Promise<void> }) {
  const t = useT();
  if (items.length === 0) return <Empty icon="shield" title={t("approvals.none")} />;
  const threadIds = [...new Set(items.map((one) => one.threadId))];
  return (
    <>
      {threadIds.map((threadId) => {
        const waiting = items.filter((one) => one.threadId === threadId);
        return (
          <div key={threadId} className="pending">
            {waiting.map((one) => (
              <ApprovalCard key={one.id} approvalId={one.id} approval={one} tool={one.tool} input={one.input} onDecided={onDecided} />
            ))}
            <ApproveAll ids={waiting.map((one) => one.id)} onDecided={onDecided} />
            <a className="faint" href={link("t", threadId)}>
              {t("approvals.thread")}
            </a>
          </div>
        );
      })}
    </>
  );
}

function Grants({ items, onChange }: { items: Grant[]; onChange: () => void }) {
  const t = useT();
  const format = useFormat();
  if (items.length === 0) return <p className="faint">{t("grants.none")}</p>;
  return (
    <ul className="cards">
      {items.map((grant) => (
        <li key={grant.id} className="card row wrap">
          <div className="grow">
            <strong className="mono">
              {grant.tool}
              {grant.pattern ? `(${grant.pattern})` : ""}
            </strong>
            <p className="faint">
              {grant.expiresAt ? t("grants.until", { at: format.full(grant.expiresAt) }) : t(`grants.scope.${grant.scope === "thread" ? "thread" : "always"}`)}
              {grant.grantedBy ? ` · ${grant.grantedBy}` : ""}
            </p>
          </div>
          <button
            type="button"
            className="button small danger"
            onClick={() => void api.revoke(grant.id).catch(sayError).then(onChange)}
          >
            {t("grants.revoke")}
          </button>
        </li>
      ))}
    </ul>
  );
}

function Past({ items }: { items: Approval[] }) {
  const t = useT();
  const format = useFormat();
  if (items.length === 0) return null;
  return (
    <>
      <h2>{t("approvals.past")}</h2>
      <ul className="cards">
        {items.slice(0, 100).map((one) => (
          <li key={one.id}>
            <details className="card">
              <summary className="row">
                <span className={`badge ${STATUS_TONE[one.status]}`}>{t(`approval.${one.status}`)}</span>
                <strong className="mono">{one.tool}</strong>
                <span className="muted mono grow truncate">{brief(one.preview ?? JSON.stringify(one.input))}</span>
                <time className="faint numeric">{format.full(one.decidedAt ?? one.requestedAt)}</time>
              </summary>
              <Preview approval={one} input={one.input} />
              {one.words && <p className="muted">{one.words}</p>}
            </details>
          </li>
        ))}
      </ul>
    </>
  );
}
