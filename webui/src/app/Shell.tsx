import { Suspense, useCallback, useEffect, useState } from "react";
import { gate } from "../api/client";
import { followServer, useChange } from "../api/live";
import { watchThreads } from "../api/threads";
import { useCell } from "../api/use";
import { ThreadView } from "../chat/ThreadView";
import { NewDialog } from "../dialog/NewDialog";
import { Shortcuts } from "../dialog/Shortcuts";
import { useT } from "../i18n";
import { Loading } from "../ui/State";
import { Banner } from "./Banner";
import { drawer, useDrawerEscape } from "./drawer";
import { Home } from "./Home";
import { isPage, pages } from "./pages";
import { Rail } from "./Rail";
import { useRoute } from "./route";
import { loadSession, useSession } from "./session";
import { Sidebar } from "./Sidebar";
import { useAttention } from "./useAttention";
import { useShortcuts } from "./useShortcuts";

export function Shell() {
  const t = useT();
  const session = useSession();
  const route = useRoute();
  const connection = useCell(gate);
  const isDrawerOpen = useCell(drawer);
  const [isNewOpen, setNewOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const openNew = useCallback(() => setNewOpen(true), []);
  const openHelp = useCallback(() => setHelpOpen(true), []);

  useEffect(watchThreads, []);
  useEffect(followServer, []);
  useAttention(session.workspace.name);
  // What people write in files changes the mode, the model and the members.
  useChange(["files"], () => void loadSession());
  useEffect(() => drawer.set(false), [route]);
  useDrawerEscape();
  useEffect(() => {
    // A server that comes back may be a new one: its mode, model and members are read again.
    if (connection === "open") void loadSession();
  }, [connection]);
  useShortcuts({ openNew, openHelp });

  const threadId = route.page === "t" ? route.pieces.join("/") : undefined;
  const isChat = threadId !== undefined || !isPage(route.page);
  return (
    <div className={["shell", isChat ? "" : "wide", isDrawerOpen ? "drawer-open" : ""].join(" ")}>
      <a className="skip" href="#main" onClick={(event) => skip(event)}>
        {t("skip")}
      </a>
      <Rail page={isChat ? "" : route.page} onHelp={openHelp} />
      {isChat && <Sidebar current={threadId} onNew={openNew} />}
      <button type="button" className="scrim" aria-label={t("close")} onClick={() => drawer.set(false)} />
      <main className="main" id="main" tabIndex={-1}>
        <Banner mode={session.mode} isLost={connection === "offline"} />
        {threadId !== undefined ? (
          <ThreadView key={threadId} id={threadId} session={session} />
        ) : isPage(route.page) ? (
          <Page name={route.page} />
        ) : (
          <Home session={session} onNew={openNew} />
        )}
      </main>
      {isNewOpen && <NewDialog session={session} onClose={() => setNewOpen(false)} />}
      {isHelpOpen && <Shortcuts onClose={() => setHelpOpen(false)} />}
    </div>
  );
}

function Page({ name }: { name: keyof typeof pages }) {
  const View = pages[name];
  return (
    <Suspense fallback={<Loading />}>
      <View />
    </Suspense>
  );
}

function skip(event: { preventDefault: () => void }): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
