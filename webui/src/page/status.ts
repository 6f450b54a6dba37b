import type { Approval, AuditEntry } from "../api/types";

/** The look of a decision's badge. */
export const STATUS_TONE: Record<Approval["status"], string> = {
  requested: "warn",
  approved: "good",
  denied: "bad",
  expired: "",
  superseded: "",
};

/** The look of what became of a call. */
export const OUTCOME_TONE: Record<AuditEntry["outcome"], string> = {
  ...STATUS_TONE,
  refused: "bad",
  running: "accent",
  ok: "good",
  error: "bad",
  interrupted: "warn",
  changed: "warn",
  mended: "warn",
  broken: "bad",
};

/** Gives the first line of a call; of a diff, the file it changes. */
export function brief(text: string): string {
  return (text.split("\n")[0] ?? "").replace(/^--- /, "");
}
