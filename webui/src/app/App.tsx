import { Suspense, useEffect } from "react";
import { gate } from "../api/client";
import { useCell } from "../api/use";
import { useT } from "../i18n";
import { Loading, Problem } from "../ui/State";
import { Toasts } from "../ui/toast";
import { Login } from "./Login";
import { SetupPage } from "./pages";
import { loadSession, session, sessionError, SessionProvider } from "./session";
import { Shell } from "./Shell";

const RETRY_MS = 1500;

export function App() {
  return (
    <>
      <Entrance />
      <Toasts />
    </>
  );
}

function Entrance() {
  const t = useT();
  const state = useCell(gate);
  const found = useCell(session);
  const error = useCell(sessionError);

  useEffect(() => void loadSession(), []);
  useEffect(() => {
    // Before the first session there is no thread list to notice that the server is back.
    if (state !== "offline" || found) return;
    const timer = window.setInterval(() => void loadSession(), RETRY_MS);
    return () => window.clearInterval(timer);
  }, [state, found]);

  if (state === "login") return <Login onDone={() => void loadSession()} />;
  if (state === "setup") {
    return (
      <Suspense fallback={<Loading />}>
        <SetupPage onDone={() => void loadSession()} />
      </Suspense>
    );
  }
  if (error) {
    return (
      <main className="lone">
        <Problem error={error} onRetry={() => void loadSession()} />
      </main>
    );
  }
  if (!found) {
    return (
      <main className="lone">
        <Loading />
        {state === "offline" && <p className="muted">{t("offline")}</p>}
      </main>
    );
  }
  return (
    <SessionProvider value={found}>
      <Shell />
    </SessionProvider>
  );
}
