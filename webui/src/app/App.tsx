import { Suspense, useEffect } from "react";
import { gate } from "../api/client";
import { persist } from "../api/live";
import { useCell } from "../api/use";
import { useT } from "../i18n";
import { Loading, Problem } from "../ui/State";
import { Toasts } from "../ui/toast";
import { Login } from "./Login";
import { SetupPage } from "./pages";
import { loadSession, session, sessionError, SessionProvider } from "./session";
import { Shell } from "./Shell";

export function App() {
  return (
    <>
      <Entrance />
      <Toasts />
    </>
  );
}

/** The page without its server: what is wrong, and what to do. */
function Away() {
  const t = useT();
  return (
    <div className="stack" role="status">
      <h1>{t("offline.title")}</h1>
      <p className="muted">{t("offline.text")}</p>
      <p>{t("offline.start")}</p>
      <pre tabIndex={0}>shipmate serve</pre>
      <p className="row">
        <span className="spinner" />
        {t("offline.wait")}
      </p>
    </div>
  );
}

function Entrance() {
  const state = useCell(gate);
  const found = useCell(session);
  const error = useCell(sessionError);

  useEffect(() => void loadSession(), []);
  useEffect(() => {
    // Before the first session there is no stream to notice that the server is back.
    if (state !== "offline" || found) return;
    const end = new AbortController();
    void persist(async () => loadSession().then(() => false), end.signal);
    return () => end.abort();
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
        {state === "offline" ? <Away /> : <Loading />}
      </main>
    );
  }
  return (
    <SessionProvider value={found}>
      <Shell />
    </SessionProvider>
  );
}
