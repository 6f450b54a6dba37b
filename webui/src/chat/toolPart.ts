import { isToolUIPart } from "ai";
import type { Message } from "../api/types";

type Part = Message["parts"][number];

/** Tells whether a part is a call. A part without a type, which a foreign file may hold, is none. */
export function isToolPart(part: Part): part is Extract<Part, { toolCallId: string }> {
  return typeof part.type === "string" && isToolUIPart(part);
}
