import { useEffect, type RefObject } from "react";

let isQuiet = false;

/** Leaves the focus where it is when the next thread opens: whoever steps through threads by key goes on stepping. */
export function openQuietly(): void {
  isQuiet = true;
}

/**
 * Keeps the focus somewhere useful: on the prompt when it appears, and again when what had the focus is gone or can no
 * longer be used, as a button that was pressed. On a touch screen the focus would open the keyboard over the page.
 */
export function usePromptFocus(prompt: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    if (!isQuiet && isFree() && window.matchMedia("(hover: hover)").matches) prompt.current?.focus({ preventScroll: true });
    isQuiet = false;
    let last: Element | undefined;
    const note = (event: FocusEvent) => {
      const target = event.target as Element;
      // Questions hand the focus on by themselves, to the next one first.
      last = target.closest(".confirmation, .approve-all") ? undefined : target;
    };
    const rescue = () => {
      if (!last || (last.isConnected && !last.matches(":disabled"))) return;
      if (!isFree() && document.activeElement !== last) return;
      last = undefined;
      prompt.current?.focus({ preventScroll: true });
    };
    const watch = new MutationObserver(rescue);
    watch.observe(document.body, { childList: true, subtree: true, attributeFilter: ["disabled"] });
    document.addEventListener("focusin", note);
    return () => {
      watch.disconnect();
      document.removeEventListener("focusin", note);
    };
  }, [prompt]);
}

/** Tells whether nothing has the focus that someone could be at work with. */
function isFree(): boolean {
  const holder = document.activeElement;
  return !document.querySelector("dialog[open]") && (!holder || holder === document.body || holder.closest("a, button") !== null);
}
