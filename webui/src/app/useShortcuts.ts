import { useEffect } from "react";
import { api } from "../api/api";
import { threads } from "../api/threads";
import { openQuietly } from "../chat/focus";
import { preference } from "./preference";
import { go, threadHere } from "./route";

export function areShortcutsOn(): boolean {
  return preference.get("shortcuts") !== "off";
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** Tells whether a message is begun: then keys are words, wherever the focus went. */
function isBegun(): boolean {
  const prompt = document.getElementById("prompt");
  if (!(prompt instanceof HTMLTextAreaElement) || !prompt.value) return false;
  prompt.focus();
  return true;
}

function step(by: number): void {
  const list = threads.get() ?? [];
  const here = threadHere();
  const at = list.findIndex((thread) => thread.id === here);
  const next = list[at === -1 ? 0 : Math.min(Math.max(at + by, 0), list.length - 1)];
  if (!next) return;
  openQuietly();
  go("t", next.id);
}

function stopCurrent(): void {
  const here = threadHere();
  if (here) void api.stop(here).catch(() => undefined);
}

/** Listens for single keys outside of fields; settings can switch them off. */
export function useShortcuts({ openNew, openHelp }: { openNew: () => void; openHelp: () => void }): void {
  useEffect(() => {
    const actions: Record<string, () => void> = {
      n: openNew,
      "?": openHelp,
      "/": () => document.getElementById("search")?.focus(),
      i: () => document.getElementById("prompt")?.focus(),
      j: () => step(1),
      k: () => step(-1),
      x: stopCurrent,
      g: () => go("approvals"),
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.keyCode === 229) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]") || !areShortcutsOn()) return;
      const act = actions[event.key];
      if (!act || isBegun()) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [openNew, openHelp]);
}
