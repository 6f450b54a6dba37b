import { useEffect, useId, useLayoutEffect, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import type { Member } from "../api/types";
import { useSession } from "../app/session";

const OPEN = /^[ \t]{0,3}@([\p{L}\p{N}_.-]*)$/u;
const SHOWN = 8;

export interface Mention {
  id: string;
  found: Member[];
  at: number;
  take: (member: Member) => void;
  onCaret: () => void;
  /** Tells whether a key was meant for the list. */
  onKey: (event: KeyboardEvent) => boolean;
}

/** Completes `@` at the start of a line with the members there are. */
export function useMention(area: RefObject<HTMLTextAreaElement | null>, text: string, setText: (text: string) => void): Mention {
  const { members } = useSession();
  const id = useId();
  const [caret, setCaret] = useState(0);
  const [at, setAt] = useState(0);
  const [closed, setClosed] = useState<string>();
  const wanted = useRef<number | undefined>(undefined);
  const line = text.slice(text.lastIndexOf("\n", caret - 1) + 1, caret);
  const begun = OPEN.exec(line)?.[1]?.toLowerCase();
  const isOpen = begun !== undefined && members.length > 1 && closed !== text;
  const found = isOpen
    ? members.filter((one) => one.id.toLowerCase().startsWith(begun) || one.name.toLowerCase().startsWith(begun)).slice(0, SHOWN)
    : [];
  useEffect(() => setAt(0), [begun]);
  // The caret goes behind the name once the field has the words.
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    area.current?.setSelectionRange(wanted.current, wanted.current);
    setCaret(wanted.current);
    wanted.current = undefined;
  }, [text]);

  const take = (member: Member) => {
    const before = `${text.slice(0, caret - (begun?.length ?? 0))}${member.id} `;
    wanted.current = before.length;
    setText(`${before}${text.slice(caret)}`);
    area.current?.focus();
  };
  const onKey = (event: KeyboardEvent): boolean => {
    const chosen = found[at];
    if (!chosen || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return false;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") setAt((at + (event.key === "ArrowDown" ? 1 : -1) + found.length) % found.length);
    else if (event.key === "Enter" || event.key === "Tab") take(chosen);
    else if (event.key === "Escape") setClosed(text);
    else return false;
    event.preventDefault();
    return true;
  };
  return { id, found, at, take, onCaret: () => setCaret(area.current?.selectionEnd ?? 0), onKey };
}
