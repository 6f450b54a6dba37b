import { useEffect, useId, useRef, useState } from "react";
import { api } from "../api/api";
import { ApiError, gate } from "../api/client";
import { useChange } from "../api/live";
import { refreshThreads } from "../api/threads";
import type { Approval, Message } from "../api/types";
import { useCell, useLoad } from "../api/use";
import { useMay, useMemberName } from "../app/session";
import { language, useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reason";
import { Diff, looksLikeDiff } from "../ui/Diff";
import { Icon } from "../ui/Icon";
import { say, sayError } from "../ui/toast";
import { Data } from "./Data";
import { isToolPart } from "./toolPart";
import { readCards, useFresh, useReadToEnd } from "./useReadToEnd";

// A longer rule would hide the buttons; what it says is shown whole above them.
const RULE_LIMIT = 80;

interface Props {
  approvalId: string;
  tool: string;
  input: unknown;
  follow: (isDone: (messages: Message[]) => boolean) => Promise<void>;
}

/** Asks a person about one call inside the conversation. */
export function Confirmation({ approvalId, tool, input, follow }: Props) {
  // What could not be read while the server was away is read when it is back: nothing is approved unseen.
  const connection = useCell(gate);
  const found = useLoad(() => api.approval(approvalId), `${approvalId} ${connection}`);
  useChange(["approvals"], () => {
    if (found.data?.status === "requested") void found.reload();
  });
  return (
    <ApprovalCard
      key={approvalId}
      approvalId={approvalId}
      approval={found.data}
      tool={tool}
      input={input}
      onDecided={() => follow((messages) => !isUndecided(messages, approvalId))}
    />
  );
}

interface CardProps {
  approvalId: string;
  approval: Approval | undefined;
  tool: string;
  input: unknown;
  onDecided: () => Promise<void>;
}

export function ApprovalCard({ approvalId, approval, tool, input, onDecided }: CardProps) {
  const t = useT();
  const card = useRef<HTMLElement>(null);
  const { decide, isSending } = useDecision(onDecided);
  const isOpen = !approval || approval.status === "requested";
  const text = useRef<HTMLDivElement>(null);
  const format = useFormat();
  const reason = useReason();
  const chosen = useCell(language);
  const { isRead, showEnd } = useReadToEnd(text, approvalId, Boolean(approval?.preview));
  const handFocusTo = useFocusAfter(isOpen);
  const mayDecide = useMay("member");
  return (
    <section className="confirmation" aria-label={t("approval.title", { tool })} tabIndex={-1} ref={card}>
      <header>
        <Icon name="shield" />
        <strong>{t("approval.title", { tool })}</strong>
        {approval && <span className="muted mono truncate">{t("approval.folder", { folder: approval.folder })}</span>}
      </header>
      {approval?.reason && <p className="muted">{approval.reasons?.[chosen] ?? reason(approval.reason)}</p>}
      <div ref={text}>
        <Preview approval={approval} input={input} />
      </div>
      {isOpen && approval?.expiresAt && <p className="faint">{t("approval.expires", { at: format.full(approval.expiresAt) })}</p>}
      {isOpen && !mayDecide ? (
        <p className="note">{t("approval.guest")}</p>
      ) : isOpen ? (
        <Choices
          approval={approval}
          isSending={isSending}
          showEnd={isRead ? undefined : showEnd}
          decide={(approved, scope, reason) => {
            handFocusTo(nextCard(card.current));
            return decide(() => api.decide(approvalId, { approved, scope, reason }));
          }}
        />
      ) : (
        <p className="muted">{t("approval.is", { status: t(`approval.${approval.status}`) })}</p>
      )}
    </section>
  );
}

interface ChoicesProps {
  approval: Approval | undefined;
  isSending: boolean;
  /** Shows the end of a text that was not read so far; nothing when it was. */
  showEnd: (() => void) | undefined;
  decide: (approved: boolean, scope?: string, reason?: string) => Promise<void>;
}

/** The answers that would hold: each longer one says exactly what it covers. */
function Choices({ approval, isSending, showEnd, decide }: ChoicesProps) {
  const t = useT();
  const member = useMemberName(approval?.member ?? "");
  const [isDenying, setDenying] = useState(false);
  const isFresh = useFresh(approval?.id ?? "");
  if (isDenying) return <Deny isSending={isSending} onDeny={(reason) => decide(false, undefined, reason)} onCancel={() => setDenying(false)} />;
  const canApprove = Boolean(approval?.preview);
  const isLocked = isFresh || isSending || showEnd !== undefined;
  const covered = (rule: string | null) => {
    if (rule === null) return t("approval.call");
    if (approval?.tool === "write" || approval?.tool === "edit") return t("approval.anything", { rule });
    return approval?.tool === "exec" && rule.length > RULE_LIMIT ? t("approval.words") : rule;
  };
  return (
    <>
      {showEnd && (
        <p className="row wrap muted" role="status">
          <span>{t("approval.toEnd")}</span>
          <button type="button" className="button small" onClick={showEnd}>
            {t("approval.showEnd")}
          </button>
        </p>
      )}
      <div className="row wrap">
        {(canApprove || !approval) && (
          <button type="button" className="button primary" disabled={isLocked || !canApprove} onClick={() => void decide(true)}>
            {t("approval.once")}
          </button>
        )}
        {approval && !canApprove && <p className="muted">{t("approval.unseen")}</p>}
        <span className="grow" />
        <button type="button" className="button danger" disabled={isSending} onClick={() => setDenying(true)}>
          {t("approval.deny")}…
        </button>
      </div>
      {canApprove && approval && approval.scopes.length > 0 && (
        <ul className="scopes">
          {approval.scopes.map(({ scope, rule }) => (
            <li key={scope}>
              <button type="button" className="button small" disabled={isLocked} onClick={() => void decide(true, scope)}>
                {t(`approval.${scope}`)}
              </button>
              <span className="muted">{t(`approval.covers.${scope}`, { what: covered(rule), member })}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

interface DenyProps {
  isSending: boolean;
  onDeny: (reason: string | undefined) => Promise<void>;
  onCancel: () => void;
}

function Deny({ isSending, onDeny, onCancel }: DenyProps) {
  const t = useT();
  const reasonId = useId();
  const [reason, setReason] = useState("");
  return (
    <form
      className="deny"
      onSubmit={(event) => {
        event.preventDefault();
        void onDeny(reason.trim() || undefined);
      }}
    >
      <label htmlFor={reasonId}>{t("approval.reason")}</label>
      <input
        id={reasonId}
        className="input"
        autoFocus
        value={reason}
        placeholder={t("approval.reason.hint")}
        onChange={(event) => setReason(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && onCancel()}
      />
      <div className="row wrap">
        <button type="submit" className="button danger" disabled={isSending}>
          {t("approval.deny")}
        </button>
        <button type="button" className="button quiet" onClick={onCancel}>
          {t("cancel")}
        </button>
      </div>
    </form>
  );
}

/** Sends a decision once, and says what came of it. */
function useDecision(onDecided: () => Promise<void>) {
  const t = useT();
  const [isSending, setSending] = useState(false);
  const decide = async (send: () => Promise<{ say?: string | null }>) => {
    setSending(true);
    try {
      const answer = await send();
      if (answer.say) say(answer.say);
    } catch (error) {
      // Another tab or chat may have answered first; what was decided shows in a moment.
      if (error instanceof ApiError && error.status === 409) say(t("approval.already"));
      else {
        sayError(error);
        setSending(false);
        return;
      }
    }
    void refreshThreads();
    await onDecided();
    setSending(false);
  };
  return { decide, isSending };
}

/** Decides all questions that are shown together in one step: those and no later ones. */
export function ApproveAll({ ids, onDecided }: { ids: string[]; onDecided: () => Promise<void> }) {
  const t = useT();
  const { decide, isSending } = useDecision(onDecided);
  const isShown = ids.length > 1;
  const handFocusTo = useFocusAfter(isShown);
  const send = (approved: boolean) => {
    handFocusTo(null);
    void decide(async () => ({ say: null, ...(await api.decideAll(ids, approved)) }));
  };
  const read = useCell(readCards);
  // A question that came just now may stand where the button stood.
  const isFresh = useFresh(ids.join());
  if (!isShown) return null;
  const isUnread = isFresh || !ids.every((id) => read.has(id));
  return (
    <div className="approve-all row wrap" role="group" aria-label={t("approval.several", { n: ids.length })}>
      <span className="grow">{t("approval.several", { n: ids.length })}</span>
      <button type="button" className="button" disabled={isSending || isUnread} onClick={() => send(true)}>
        {t("approval.all", { n: ids.length })}
      </button>
      <button type="button" className="button danger" disabled={isSending} onClick={() => send(false)}>
        {t("approval.none")}
      </button>
    </div>
  );
}

/** The card a keyboard goes on to: focused as a whole, so that no key held down approves it unseen. */
function nextCard(card: HTMLElement | null): HTMLElement | null {
  const all = [...document.querySelectorAll<HTMLElement>(".confirmation")];
  const at = card ? all.indexOf(card) : -1;
  return all[at + 1] ?? all[at - 1] ?? null;
}

/** Hands the focus on once the buttons that were pressed are gone from the page, however late that is. */
function useFocusAfter(isShown: boolean): (next: HTMLElement | null) => void {
  const pressed = useRef<{ next: HTMLElement | null } | null>(null);
  useEffect(() => {
    if (!isShown) return;
    return () => {
      if (pressed.current) refocus(pressed.current.next);
      pressed.current = null;
    };
  }, [isShown]);
  return (next) => {
    pressed.current = { next };
  };
}

/** Takes the focus on, where the button that had it is gone. */
function refocus(next: HTMLElement | null) {
  if (document.activeElement && document.activeElement !== document.body && document.activeElement.isConnected) return;
  const places = [".composer textarea", ".confirmation", "#main"];
  const found = places.map((place) => document.querySelector<HTMLElement>(place)).find((element) => element !== null);
  (next?.isConnected ? next : found)?.focus();
}

/** Shows the whole call: the diff or command the server made ready, or the bare input when there is none. */
export function Preview({ approval, input }: { approval: Approval | undefined; input: unknown }) {
  const t = useT();
  const preview = approval?.preview;
  if (!preview) return <Data label={t("tool.input")} value={input} revealed />;
  return (
    <>
      {approval.leadsTo && <p className="warning">{t("approval.leads", { path: approval.leadsTo })}</p>}
      {approval.sharedHours && <p className="warning">{t("approval.shared", { n: approval.sharedHours })}</p>}
      {looksLikeDiff(preview) ? (
        <Diff text={preview} />
      ) : (
        <pre className="command" tabIndex={0}>
          {preview}
        </pre>
      )}
      <p className="faint numeric">{t("approval.length", approval.length)}</p>
    </>
  );
}

function isUndecided(messages: Message[], approvalId: string): boolean {
  return messages.some((message) =>
    message.parts.some(
      (part) =>
        isToolPart(part) &&
        (part.state === "approval-requested" || part.state === "approval-responded") &&
        part.approval.id === approvalId,
    ),
  );
}

/** Names the questions of a conversation that wait, in the order they are shown. */
export function waitingIds(messages: Message[]): string[] {
  return messages.flatMap((message) =>
    message.parts.flatMap((part) => (isToolPart(part) && part.state === "approval-requested" ? [part.approval.id] : [])),
  );
}
