import { isToolUIPart } from "ai";
import { useId, useState } from "react";
import { api } from "../api/api";
import { ApiError } from "../api/client";
import { refreshThreads } from "../api/threads";
import type { Approval, Message } from "../api/types";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import { Diff, looksLikeDiff } from "../ui/Diff";
import { Icon } from "../ui/Icon";
import { say, sayError } from "../ui/toast";
import { Data } from "./Data";

interface Props {
  approvalId: string;
  tool: string;
  input: unknown;
  follow: (isDone: (messages: Message[]) => boolean) => Promise<void>;
}

/** Asks a person about one call inside the conversation. */
export function Confirmation({ approvalId, tool, input, follow }: Props) {
  const found = useLoad(() => api.approval(approvalId), approvalId);
  return (
    <ApprovalCard
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
  const reasonId = useId();
  const [reason, setReason] = useState("");
  const [isDenying, setDenying] = useState(false);
  const [isSending, setSending] = useState(false);

  const decide = async (approved: boolean, scope?: string) => {
    setSending(true);
    try {
      const answer = await api.decide(approvalId, { approved, scope, reason: reason.trim() || undefined });
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

  return (
    <section className="confirmation" aria-label={t("approval.title", { tool })}>
      <header>
        <Icon name="shield" />
        <strong>{t("approval.title", { tool })}</strong>
      </header>
      {approval?.reason && <p className="muted">{approval.reason}</p>}
      <Preview approval={approval} input={input} />
      {approval && approval.status !== "requested" ? (
        <p className="muted">{t("approval.is", { status: t(`approval.${approval.status}`) })}</p>
      ) : isDenying ? (
        <form
          className="deny"
          onSubmit={(event) => {
            event.preventDefault();
            void decide(false);
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
            onKeyDown={(event) => event.key === "Escape" && setDenying(false)}
          />
          <div className="row wrap">
            <button type="submit" className="button danger" disabled={isSending}>
              {t("approval.deny")}
            </button>
            <button type="button" className="button quiet" onClick={() => setDenying(false)}>
              {t("cancel")}
            </button>
          </div>
        </form>
      ) : (
        <div className="row wrap">
          <button type="button" className="button primary" disabled={isSending} onClick={() => void decide(true)}>
            {t("approval.once")}
          </button>
          <button type="button" className="button" disabled={isSending} onClick={() => void decide(true, "10m")}>
            {t("approval.10m")}
          </button>
          <button type="button" className="button" disabled={isSending} onClick={() => void decide(true, "thread")}>
            {t("approval.thread")}
          </button>
          <span className="grow" />
          <button type="button" className="button danger" disabled={isSending} onClick={() => setDenying(true)}>
            {t("approval.deny")}…
          </button>
        </div>
      )}
    </section>
  );
}

/** Shows the whole call: the diff or command the server made ready, or the bare input when there is none. */
export function Preview({ approval, input }: { approval: Approval | undefined; input: unknown }) {
  const t = useT();
  const preview = approval?.preview;
  if (!preview) return <Data label={t("tool.input")} value={input} revealed />;
  if (looksLikeDiff(preview)) return <Diff text={preview} />;
  return (
    <pre className="command" tabIndex={0}>
      {preview}
    </pre>
  );
}

function isUndecided(messages: Message[], approvalId: string): boolean {
  return messages.some((message) =>
    message.parts.some(
      (part) =>
        isToolUIPart(part) &&
        (part.state === "approval-requested" || part.state === "approval-responded") &&
        part.approval.id === approvalId,
    ),
  );
}
