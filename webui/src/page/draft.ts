import { Cell } from "../api/client";
import { session } from "../app/session";

/** What was written and not saved, and the version of the file it was written against. */
export interface FileDraft {
  text: string;
  version: string | null;
}

/** Another workspace may be served at the same address, and another person sign in here; their drafts are not these. */
const place = (key: string) => {
  const { workspace, user } = session.get() ?? {};
  return `shipmate.draft.${workspace?.id ?? ""}.${!user || user.isOwner ? "" : `${user.id}@`}${key}`;
};

// What the browser's storage refused; it lasts as long as the page does, and leaving the page asks first.
const refused = new Map<string, FileDraft>();

/** Counts the changes of the drafts, for whoever shows which there are. */
export const draftChanges = new Cell(0);

export const scriptKey = (ref: string) => `script/${ref}`;

export function readDraft(key: string): FileDraft | undefined {
  const kept = refused.get(key);
  if (kept) return kept;
  try {
    const found: unknown = JSON.parse(localStorage.getItem(place(key)) ?? "null");
    return isDraft(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

export function keepDraft(key: string, draft: FileDraft): void {
  try {
    localStorage.setItem(place(key), JSON.stringify(draft));
    refused.delete(key);
  } catch {
    refused.set(key, draft);
  }
  announce();
}

export function dropDraft(key: string): void {
  refused.delete(key);
  try {
    localStorage.removeItem(place(key));
  } catch {
    // A storage that cannot be reached holds no draft.
  }
  announce();
}

function isDraft(value: unknown): value is FileDraft {
  const draft = value as FileDraft | null;
  return typeof draft?.text === "string" && (draft.version === null || typeof draft.version === "string");
}

function announce(): void {
  draftChanges.set(draftChanges.get() + 1);
}

window.addEventListener("beforeunload", (event) => {
  if (refused.size > 0) event.preventDefault();
});
