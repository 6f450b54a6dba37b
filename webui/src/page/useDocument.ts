import { useEffect, useRef, useState } from "react";
import { ApiError } from "../api/client";
import { useT } from "../i18n";
import { say } from "../ui/toast";
import { dropDraft, keepDraft, readDraft, type FileDraft } from "./draft";

/** A file's text, and the version a change of it is written against; null for a file that is not there yet. */
export interface StoredText {
  text: string;
  version: string | null;
}

export interface DocumentSource {
  /** Names the draft of this file in the browser. */
  key: string;
  name: string;
  stored: StoredText;
  read: () => Promise<StoredText>;
  write: (text: string, version: string | null) => Promise<string>;
  /** Called when what stands on disk was written or read again. */
  onStored?: () => void;
}

export interface OpenDocument {
  text: string;
  setText: (text: string) => void;
  isChanged: boolean;
  /** Someone else changed the file after this text was begun. */
  isClash: boolean;
  /** The text was written before and is not saved yet. */
  isRestored: boolean;
  problem: Error | undefined;
  /** Returns whether the text stands on disk now. */
  save: () => Promise<boolean>;
  /** Puts another text in the place of the saved one; returns whether it stands on disk now. */
  replace: (text: string) => Promise<boolean>;
  takeTheirs: () => Promise<void>;
  keepMine: () => Promise<void>;
  discard: () => void;
}

const RETURNS = /\r\n?/g;

/** A text as a field of the page holds it; a file of Windows is written back as one. */
const unix = (text: string) => text.replace(RETURNS, "\n");

const restore = (text: string, like: string) => (like.includes("\r\n") ? text.replaceAll("\n", "\r\n") : text);

/** Returns what was written and not saved; what stands on disk by now is no draft. */
function findDraft(key: string, stored: StoredText): FileDraft | undefined {
  const draft = readDraft(key);
  return draft?.text === unix(stored.text) ? undefined : draft;
}

/** Edits one file. What is not saved outlives the page; nobody's change is overwritten unseen. */
export function useDocument({ key, name, stored, read, write, onStored }: DocumentSource): OpenDocument {
  const t = useT();
  const [draft] = useState(() => findDraft(key, stored));
  const [text, setText] = useState(() => draft?.text ?? unix(stored.text));
  const [base, setBase] = useState<StoredText>(() => (draft ? { ...stored, version: draft.version } : stored));
  const [isClash, setClash] = useState(draft !== undefined && draft.version !== stored.version);
  const [isRestored, setRestored] = useState(draft !== undefined);
  const [problem, setProblem] = useState<Error>();
  const isChanged = text !== unix(base.text);
  const seen = useRef(stored);
  const isSaving = useRef(false);

  useEffect(() => {
    if (isChanged) keepDraft(key, { text, version: base.version });
    else if (readDraft(key)) dropDraft(key);
  }, [key, text, base.version, isChanged]);

  useEffect(() => {
    if (seen.current === stored) return;
    seen.current = stored;
    if (stored.version === base.version) return;
    if (isChanged) setClash(true);
    else settle(stored, stored.text);
  });

  const settle = (next: StoredText, shown: string) => {
    setBase(next);
    setText(unix(shown));
    setClash(false);
    setRestored(false);
    setProblem(undefined);
  };
  const attempt = async (act: () => Promise<void>): Promise<boolean> => {
    setProblem(undefined);
    try {
      await act();
      onStored?.();
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) setClash(true);
      else setProblem(error as Error);
      return false;
    }
  };

  const readAgain = async (): Promise<StoredText> => {
    try {
      return await read();
    } catch (error) {
      // A file that is gone can be written anew.
      if (error instanceof ApiError && error.status === 404) return { text: "", version: null };
      throw error;
    }
  };
  const save = async (): Promise<boolean> => {
    if (isSaving.current) return false;
    isSaving.current = true;
    const isSaved = await attempt(async () => {
      const whole = restore(text, base.text);
      const version = await write(whole, base.version);
      // What was written on meanwhile stays in the field.
      setBase({ text: whole, version });
      setRestored(false);
      say(t("saved", { name }));
    });
    isSaving.current = false;
    return isSaved;
  };
  const replace = (next: string): Promise<boolean> =>
    attempt(async () => {
      const version = await write(next, base.version);
      settle({ text: next, version }, next);
    });
  const takeTheirs = async () => {
    await attempt(async () => {
      const theirs = await readAgain();
      settle(theirs, theirs.text);
    });
  };
  const keepMine = async () => {
    await attempt(async () => settle(await readAgain(), text));
  };
  const discard = () => (isClash ? void takeTheirs() : settle(base, base.text));

  return { text, setText: (next) => setText(unix(next)), isChanged, isClash, isRestored: isRestored && isChanged, problem, save, replace, takeTheirs, keepMine, discard };
}
