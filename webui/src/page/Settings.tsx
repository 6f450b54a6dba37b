import { useState } from "react";
import { api } from "../api/api";
import type { Finding } from "../api/types";
import { useCell, useLoad } from "../api/use";
import { preference } from "../app/preference";
import { link } from "../app/route";
import { useMay, useSession } from "../app/session";
import { chooseTheme, theme } from "../app/theme";
import { notifies, switchNotifications } from "../app/useAttention";
import { areShortcutsOn } from "../app/useShortcuts";
import { chooseLanguage, isWord, language, useT } from "../i18n";
import { useReason } from "../i18n/reason";
import { Icon } from "../ui/Icon";
import { Show } from "../ui/State";
import { KeyTest } from "./KeyTest";
import { Page } from "./Page";

export default function Settings() {
  const t = useT();
  const session = useSession();
  if (!useMay("admin")) {
    return (
      <Page title={t("nav.settings")}>
        <Appearance />
        <p className="faint">Shipmate {session.version}</p>
      </Page>
    );
  }
  return (
    <Page title={t("nav.settings")}>
      <Appearance />
      <section className="block">
        <h2>{t("nav.team")}</h2>
        <p className="muted">{t("team.about")}</p>
        <a href={link("team")}>{t("team.open")}</a>
      </section>
      <section className="block">
        <h2>{t("model")}</h2>
        <p>
          <strong className="mono">{session.model.name}</strong>
        </p>
        {session.model.isRehearsal && <p className="note">{t("rehearsal.long")}</p>}
        <KeyTest />
      </section>
      <Doctor />
      <p className="faint">
        Shipmate {session.version} · {t("settings.mode")}: <a href={link("permissions")}>{t(`mode.name.${session.mode}`)}</a>
      </p>
    </Page>
  );
}

function Appearance() {
  const t = useT();
  const chosenTheme = useCell(theme);
  const chosenLanguage = useCell(language);
  const [hasShortcuts, setShortcuts] = useState(areShortcutsOn());
  return (
    <section className="block">
      <h2>{t("settings.look")}</h2>
      <div className="setting">
        <span id="set-language">{t("settings.language")}</span>
        <div className="segmented" role="group" aria-labelledby="set-language">
          <button type="button" aria-pressed={chosenLanguage === "en"} lang="en" onClick={() => chooseLanguage("en")}>
            English
          </button>
          <button type="button" aria-pressed={chosenLanguage === "zh"} lang="zh-CN" onClick={() => chooseLanguage("zh")}>
            中文
          </button>
        </div>
      </div>
      <div className="setting">
        <span id="set-theme">{t("settings.theme")}</span>
        <div className="segmented" role="group" aria-labelledby="set-theme">
          {(["system", "light", "dark"] as const).map((name) => (
            <button key={name} type="button" aria-pressed={chosenTheme === name} onClick={() => chooseTheme(name)}>
              {t(`theme.${name}`)}
            </button>
          ))}
        </div>
      </div>
      <label className="check">
        <input
          type="checkbox"
          checked={hasShortcuts}
          onChange={(event) => {
            setShortcuts(event.target.checked);
            preference.set("shortcuts", event.target.checked ? "on" : "off");
          }}
        />
        <span>{t("settings.shortcuts")}</span>
      </label>
      <Notifications />
    </section>
  );
}

/** Asked for here and nowhere else: the browser's own question comes after the switch. */
function Notifications() {
  const t = useT();
  const isOn = useCell(notifies);
  const [isRefused, setRefused] = useState(false);
  return (
    <>
      <label className="check">
        <input
          type="checkbox"
          checked={isOn}
          onChange={(event) => {
            const isWanted = event.target.checked;
            void switchNotifications(isWanted).then((is) => setRefused(isWanted && !is));
          }}
        />
        <span>{t("settings.notify")}</span>
      </label>
      {isRefused && (
        <p className="note" role="status">
          {t("settings.notify.refused")}
        </p>
      )}
    </>
  );
}

const ICONS = { ok: "check", warn: "alert", error: "cross" } as const;
const TONES = { ok: "good", warn: "warn", error: "bad" } as const;

function Doctor() {
  const t = useT();
  const doctor = useLoad(() => api.doctor(), "doctor");
  return (
    <section className="block">
      <div className="row">
        <h2 className="grow">{t("doctor")}</h2>
        <button type="button" className="button small" disabled={doctor.loading} onClick={() => void doctor.reload()}>
          {t("doctor.again")}
        </button>
      </div>
      <Show from={doctor}>
        {({ findings }) => (
          <ul className="cards">
            {findings.map((finding, index) => (
              <FindingRow key={index} finding={finding} />
            ))}
          </ul>
        )}
      </Show>
    </section>
  );
}

function FindingRow({ finding }: { finding: Finding }) {
  const t = useT();
  const reason = useReason();
  const known = `subject.${finding.subject}`;
  const name = isWord(known) ? t(known) : reason(finding.subject);
  return (
    <li className="finding">
      <span className={`badge ${TONES[finding.level]}`}>
        <Icon name={ICONS[finding.level]} tiny />
        {t(`level.${finding.level}`)}
      </span>
      <div className="grow">
        <strong>{name}</strong> {reason(finding.message)}
        {finding.fix && finding.level !== "ok" && <p className="faint">{reason(finding.fix)}</p>}
      </div>
    </li>
  );
}
