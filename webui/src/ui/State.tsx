import type { ReactNode } from "react";
import { ApiError } from "../api/client";
import type { Loaded } from "../api/use";
import { useT } from "../i18n";
import { useReason } from "../i18n/reason";
import { Icon, type IconName } from "./Icon";

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <Icon name={icon} />
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Loading() {
  const t = useT();
  return (
    <div className="empty" role="status">
      <div className="spinner" />
      <span className="hidden-visually">{t("loading")}</span>
    </div>
  );
}

export function Problem({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const t = useT();
  const reason = useReason();
  const next = error instanceof ApiError ? error.next : "";
  const isOffline = error instanceof ApiError && error.code === "offline";
  return (
    <div className="note bad" role="alert">
      <Icon name="alert" />
      <div className="grow">
        <p>{isOffline ? t("offline.short") : reason(error.message)}</p>
        {next && <p>{reason(next)}</p>}
      </div>
      {onRetry && (
        <button type="button" className="button small" onClick={onRetry}>
          {t("retry")}
        </button>
      )}
    </div>
  );
}

/** Shows what a load gave, or that it is still going on, or why it failed. */
export function Show<T>({ from, children }: { from: Loaded<T>; children: (data: T) => ReactNode }) {
  if (from.data !== undefined) return <>{children(from.data)}</>;
  if (from.error) return <Problem error={from.error} onRetry={() => void from.reload()} />;
  return <Loading />;
}
