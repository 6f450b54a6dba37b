import { useState } from "react";
import { api } from "../api/api";
import { useChange } from "../api/live";
import type { Adapter, Send, Shared } from "../api/types";
import { useLoad } from "../api/use";
import { link } from "../app/route";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reason";
import { Confirm } from "../ui/Confirm";
import { Empty, Show } from "../ui/State";
import { sayError } from "../ui/toast";
import { Page } from "./Page";
import { PlatformPeople } from "./PlatformPeople";

const STATE_TONE: Record<Adapter["state"], string> = { listening: "good", trouble: "bad", elsewhere: "", off: "" };
const SEND_TONE: Partial<Record<Send["status"], string>> = { uncertain: "warn", held: "warn", failed: "bad", sent: "good" };
/** What a person may have sent again or forgotten. */
const OPEN: Send["status"][] = ["waiting", "uncertain", "held", "failed"];

/** How it stands with the platforms: each adapter, what was not sent, and who may talk. */
export default function Platforms() {
  const t = useT();
  const adapters = useLoad(() => api.adapters(), "adapters");
  const sends = useLoad(() => api.outbox(), "outbox");
  const shared = useLoad(() => api.shared(), "shared");
  const people = useLoad(() => api.people(), "people");
  const reload = async () => {
    await Promise.all([adapters.reload(), sends.reload(), shared.reload(), people.reload()]);
  };
  useChange(["platforms"], () => void reload());
  return (
    <Page title={t("nav.platforms")} about={t("platforms.about")}>
      <Show from={adapters}>{(data) => <Adapters items={data.adapters} />}</Show>
      <h2>{t("outbox")}</h2>
      <Show from={sends}>{(data) => <Sends items={data.sends} onSettled={() => void sends.reload()} />}</Show>
      <Show from={shared}>{(data) => <SharedFiles items={data.shared} onChange={() => void shared.reload()} />}</Show>
      <Show from={people}>{(data) => <PlatformPeople known={data} onChange={() => void people.reload()} />}</Show>
    </Page>
  );
}

function Adapters({ items }: { items: Adapter[] }) {
  const t = useT();
  const format = useFormat();
  const reason = useReason();
  if (items.length === 0) {
    return (
      <Empty icon="signal" title={t("platforms.none")}>
        {t("platforms.none.text")}
      </Empty>
    );
  }
  return (
    <ul className="cards">
      {items.map((one) => (
        <li key={one.name} className="card loose">
          <p className="row wrap">
            <strong>{one.name}</strong>
            <span className={`badge ${STATE_TONE[one.state]}`}>{t(`platforms.${one.state}`)}</span>
            <span className="muted">{t("platforms.who", { kind: one.kind, member: one.member })}</span>
          </p>
          {one.trouble && <p>{reason(one.trouble)}</p>}
          {one.state !== "off" && (
            <p className="faint">
              {one.since && `${t("platforms.since", { at: format.full(one.since) })} · `}
              {one.lastEventAt ? t("platforms.last", { at: format.full(one.lastEventAt) }) : t("platforms.silent")}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

function Sends({ items, onSettled }: { items: Send[]; onSettled: () => void }) {
  const t = useT();
  const [asked, setAsked] = useState<{ send: Send; verb: "retry" | "drop" }>();
  const settle = (send: Send, verb: "retry" | "drop") => {
    setAsked(undefined);
    void (verb === "retry" ? api.retrySend(send.id) : api.dropSend(send.id)).catch(sayError).then(onSettled);
  };
  if (items.length === 0) return <p className="faint">{t("outbox.none")}</p>;
  return (
    <>
      <ul className="cards">
        {items.map((send) => (
          <SendCard
            key={send.id}
            send={send}
            // Only what may be there already could arrive twice.
            onRetry={() => (send.status === "uncertain" ? setAsked({ send, verb: "retry" }) : settle(send, "retry"))}
            onDrop={() => setAsked({ send, verb: "drop" })}
          />
        ))}
      </ul>
      {asked && (
        <Confirm
          title={t(`outbox.${asked.verb}`)}
          text={t(`outbox.${asked.verb}.sure`)}
          action={t(`outbox.${asked.verb}`)}
          onClose={() => setAsked(undefined)}
          onConfirm={() => settle(asked.send, asked.verb)}
        />
      )}
    </>
  );
}

function SendCard({ send, onRetry, onDrop }: { send: Send; onRetry: () => void; onDrop: () => void }) {
  const t = useT();
  const format = useFormat();
  const reason = useReason();
  const isStray = send.status === "sent";
  return (
    <li className="card loose">
      <p className="row wrap">
        <span className={`badge ${SEND_TONE[send.status] ?? ""}`}>{t(`outbox.${send.status}`)}</span>
        <a href={link("t", send.threadId)} className="mono truncate">
          {send.threadId}
        </a>
        <time className="faint numeric">{format.full(send.createdAt)}</time>
      </p>
      <p>{send.text}</p>
      {send.error && !isStray && <p className="faint">{reason(send.error)}</p>}
      <p className="muted">{t(`outbox.${send.status}.hint`)}</p>
      {OPEN.includes(send.status) && (
        <p className="row wrap">
          <button type="button" className="button small" onClick={onRetry}>
            {t("outbox.retry")}
          </button>
          <button type="button" className="button small danger" onClick={onDrop}>
            {t("outbox.drop")}
          </button>
        </p>
      )}
    </li>
  );
}

/** What anyone can fetch who has its address. */
function SharedFiles({ items, onChange }: { items: Shared[]; onChange: () => void }) {
  const t = useT();
  const format = useFormat();
  if (items.length === 0) return null;
  return (
    <>
      <h2>{t("shared")}</h2>
      <ul className="cards">
        {items.map((one) => (
          <li key={one.id} className="card row wrap">
            <div className="grow">
              <strong className="mono">{one.path}</strong>
              <p className="faint">
                {t("shared.until", { size: format.bytes(one.bytes), at: format.full(one.expiresAt) })} ·{" "}
                <a href={link("t", one.threadId)}>{one.threadId}</a>
              </p>
            </div>
            <button type="button" className="button small danger" onClick={() => void api.revokeShared(one.id).catch(sayError).then(onChange)}>
              {t("shared.revoke")}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
