import { Cell } from "../api/client";
import { useCell } from "../api/use";
import { useReason } from "../i18n/reason";

interface Toast {
  id: number;
  text: string;
  bad: boolean;
}

const SHOWN_MS = 5000;
const toasts = new Cell<Toast[]>([]);
let count = 0;

export function say(text: string, bad = false): void {
  const id = ++count;
  toasts.set([...toasts.get(), { id, text, bad }]);
  window.setTimeout(() => toasts.set(toasts.get().filter((toast) => toast.id !== id)), SHOWN_MS);
}

export function sayError(error: unknown): void {
  say(error instanceof Error ? error.message : String(error), true);
}

export function Toasts() {
  const shown = useCell(toasts);
  const reason = useReason();
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <div key={toast.id} className={toast.bad ? "toast bad" : "toast"}>
          {toast.bad ? reason(toast.text) : toast.text}
        </div>
      ))}
    </div>
  );
}
