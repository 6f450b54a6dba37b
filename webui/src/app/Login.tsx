import { useState } from "react";
import { api } from "../api/api";
import { gate } from "../api/client";
import { useT } from "../i18n";
import mark from "../style/mark.svg";
import { Problem } from "../ui/State";

/** Asks for the token when the browser has no session, for example after the token was changed. */
export function Login({ onDone }: { onDone: () => void }) {
  const t = useT();
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<Error>();
  const enter = async () => {
    try {
      await api.login(token.trim());
      gate.set("open");
      onDone();
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <main className="lone">
      <img src={mark} alt="" width={44} height={44} />
      <h1>{t("login.title")}</h1>
      <p className="muted">{t("login.text")}</p>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void enter();
        }}
      >
        <label className="field">
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
        {problem && <Problem error={problem} />}
        <button type="submit" className="button primary" disabled={!token.trim()}>
          {t("login.enter")}
        </button>
      </form>
    </main>
  );
}
