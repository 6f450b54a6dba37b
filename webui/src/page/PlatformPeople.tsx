import { useState } from "react";
import { api } from "../api/api";
import type { Paired, People, WaitingCode } from "../api/types";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Confirm } from "../ui/Confirm";
import { sayError } from "../ui/toast";

/** Who may talk from platforms, and who asks to. */
export function PlatformPeople({ known, onChange }: { known: People; onChange: () => void }) {
  const t = useT();
  const format = useFormat();
  const [leaving, setLeaving] = useState<Paired>();
  const act = (work: Promise<unknown>) => void work.catch(sayError).then(onChange);
  const isEmpty = known.people.length + known.paired.length + known.waiting.length === 0;
  return (
    <>
      <h2>{t("people")}</h2>
      {isEmpty && <p className="faint">{t("people.none")}</p>}
      <ul className="cards">
        {known.waiting.map((one) => (
          <Waiting key={one.code} one={one} persons={known.people.map((each) => each.person)} act={act} />
        ))}
        {known.paired.map((one) => (
          <li key={one.id} className="card row wrap">
            <div className="grow">
              <strong>{one.name || one.id}</strong> {one.person && <span className="badge">{one.person}</span>}
              <p className="faint">
                <span className="mono">{one.id}</span> · {t("people.since", { at: format.full(one.at) })}
              </p>
            </div>
            <button type="button" className="button small danger" onClick={() => setLeaving(one)}>
              {t("people.part")}
            </button>
          </li>
        ))}
        {known.people.map((one) => (
          <li key={one.person} className="card">
            <strong>{one.person}</strong> <span className="badge">ship.json</span>
            <p className="faint mono">{one.ids.join(", ")}</p>
          </li>
        ))}
      </ul>
      {leaving && (
        <Confirm
          title={t("people.part")}
          text={t("people.part.sure", { name: leaving.name || leaving.id })}
          action={t("people.part")}
          onClose={() => setLeaving(undefined)}
          onConfirm={() => {
            setLeaving(undefined);
            act(api.part(leaving.id));
          }}
        />
      )}
    </>
  );
}

function Waiting({ one, persons, act }: { one: WaitingCode; persons: string[]; act: (work: Promise<unknown>) => void }) {
  const t = useT();
  const format = useFormat();
  const [person, setPerson] = useState("");
  return (
    <li className="card loose">
      <p className="row wrap">
        <span className="badge warn">{t("people.asks")}</span>
        <strong>{one.name || one.id}</strong>
        <span className="faint mono">{one.id}</span>
      </p>
      <p className="muted">{t("people.code", { code: one.code, at: format.time(one.expiresAt) })}</p>
      <div className="row wrap">
        {persons.length > 0 && (
          <select className="input narrow" aria-label={t("people.as")} value={person} onChange={(event) => setPerson(event.target.value)}>
            <option value="">{t("people.own")}</option>
            {persons.map((name) => (
              <option key={name} value={name}>
                {t("people.is", { name })}
              </option>
            ))}
          </select>
        )}
        <button type="button" className="button small primary" onClick={() => act(api.pair(one.code, person || undefined))}>
          {t("people.pair")}
        </button>
        <button type="button" className="button small" onClick={() => act(api.refuseCode(one.code))}>
          {t("people.refuse")}
        </button>
      </div>
    </li>
  );
}
