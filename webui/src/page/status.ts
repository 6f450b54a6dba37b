import type { Approval } from "../api/types";

/** The look of a decision's badge. */
export const STATUS_TONE: Record<Approval["status"], string> = {
  requested: "warn",
  approved: "good",
  denied: "bad",
  expired: "",
  superseded: "",
};

/** Gives the first line of a call; of a diff, the file it changes. */
export function brief(text: string): string {
  return (text.split("\n")[0] ?? "").replace(/^--- /, "");
}
