import type { Approval } from "../api/types";

/** The look of a decision's badge. */
export const STATUS_TONE: Record<Approval["status"], string> = {
  requested: "warn",
  approved: "good",
  denied: "bad",
  expired: "",
  superseded: "",
};
