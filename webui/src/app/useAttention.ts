import { useEffect, useRef } from "react";
import { Cell } from "../api/client";
import { waiting } from "../api/live";
import { useCell } from "../api/use";
import { useT } from "../i18n";
import { preference } from "./preference";
import { go } from "./route";

/** Whether a notification may be shown: never unless a person switched it on here and the browser agreed. */
export const notifies = new Cell(preference.get("notify") === "on" && isAllowed());

function isAllowed(): boolean {
  return "Notification" in window && Notification.permission === "granted";
}

/** Asks the browser, because a person asked for it; returns whether notifications are on now. */
export async function switchNotifications(isWanted: boolean): Promise<boolean> {
  if (isWanted && "Notification" in window && !isAllowed()) await Notification.requestPermission();
  notifies.set(isWanted && isAllowed());
  preference.set("notify", notifies.get() ? "on" : "off");
  return notifies.get();
}

/** Shows that something waits, without a word of what: screens are looked at by others. */
async function notify(title: string, body: string): Promise<void> {
  const options = { body, tag: "shipmate-approvals", icon: "/icon-192.png" };
  const worker = await navigator.serviceWorker?.getRegistration();
  // Telephones take notifications from a worker alone; its own click leads to the page of approvals.
  if (worker?.active) return worker.showNotification(title, options);
  const shown = new Notification(title, options);
  shown.onclick = () => {
    window.focus();
    go("approvals");
    shown.close();
  };
}

/** Says in the title, on the icon and, where it is wanted, by a notification that something waits for a person. */
export function useAttention(workspace: string): void {
  const t = useT();
  const count = useCell(waiting);
  const before = useRef(0);
  useEffect(() => {
    document.title = count > 0 ? `(${count}) ${workspace} · Shipmate` : `${workspace} · Shipmate`;
    // A browser without icons to mark, or one that does not want to, is no trouble.
    void (count > 0 ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.())?.catch(() => undefined);
    const isMore = count > before.current;
    before.current = count;
    if (isMore && document.hidden && notifies.get()) {
      void notify(t("notify.title", { n: count }), workspace).catch(() => undefined);
    }
  }, [count, t, workspace]);
}
