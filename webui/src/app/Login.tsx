import { useState } from "react";
import { api } from "../api/api";
import { gate } from "../api/client";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import mark from "../style/mark.svg";
import { Problem } from "../ui/State";

/** Asks who comes when the browser has no session: by name and password, at a provider, or with the workspace's token. */
export function Login({ onDone }: { onDone: () => void }) {
  const t = useT();
  const ways = useLoad(() => api.loginWays(), "ways").data;
  const [byToken, setByToken] = useState(false);
  const [token, setToken] = useState("");
  const [user, setUser] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState<Error>();
  const hasPeople = Boolean(ways && (ways.password || ways.oidc));
  const asksToken = byToken || !hasPeople;
  const asksPassword = !asksToken && ways?.password;
  const enter = async () => {
    try {
      await api.login(asksToken ? { token: token.trim() } : { user: user.trim(), password });
      setProblem(undefined);
      gate.set("open");
      onDone();
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <main className="lone">
      <img src={mark} alt="" width={44} height={44} />
      <h1>{t(asksToken ? "login.title" : "login.people")}</h1>
      {asksToken && <p className="muted">{t("login.text")}</p>}
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void enter();
        }}
      >
        {asksToken && (
          <label className="field" key="token">
            <span>{t("login.token")}</span>
            <input
              className="input mono"
              type="password"
              autoComplete="off"
              autoFocus
              value={token}
              onChange={(event) => setToken(event.target.value)}
            />
          </label>
        )}
        {asksPassword && (
          <>
            <label className="field">
              <span>{t("login.user")}</span>
              <input className="input" autoComplete="username" autoFocus value={user} onChange={(event) => setUser(event.target.value)} />
            </label>
            <label className="field">
              <span>{t("login.password")}</span>
              <input
                className="input"
                type="password"
                autoComplete="current-password"
                value={password}
                onChange={(event) => setPassword(event.target.value)}
              />
            </label>
          </>
        )}
        {problem && <Problem error={problem} />}
        {(asksToken || asksPassword) && (
          <button type="submit" className="button primary" disabled={asksToken ? !token.trim() : !user.trim() || !password}>
            {t(asksToken ? "login.enter" : "login.sign")}
          </button>
        )}
        {ways?.oidc && (
          <a className="button" href="/api/oidc/start">
            {t("login.oidc", { name: ways.oidc })}
          </a>
        )}
        {hasPeople && !byToken && (
          <button type="button" className="button ghost" onClick={() => setByToken(true)}>
            {t("login.by-token")}
          </button>
        )}
      </form>
    </main>
  );
}
