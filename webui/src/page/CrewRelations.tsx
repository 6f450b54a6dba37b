import { useState } from "react";
import { api } from "../api/api";
import type { Crew, CrewRelation } from "../api/types";
import { isWord, useT } from "../i18n";
import { useReason } from "../i18n/reason";
import { sayError } from "../ui/toast";
import { CrewPicture } from "./CrewPicture";

const RELATIONS = ["superior", "subordinate", "peer", "support"] as const;
const STRENGTHS = ["core", "common", "occasional"] as const;
/** What older files of a crew say for the same. */
const CHINESE: Record<string, string> = {
  上级: "superior",
  下级: "subordinate",
  平级: "peer",
  支持: "support",
  核心: "core",
  常用: "common",
  偶尔: "occasional",
};

/** Says a relation or its strength in the reader's language; words of the file's own stay. */
export function useRelationWord(): (word: string) => string {
  const t = useT();
  return (word) => {
    const known = `relation.${CHINESE[word] ?? word}`;
    return isWord(known) ? t(known) : word;
  };
}

export const meaning = (word: string): string => CHINESE[word] ?? word;

/** Keeps one row of each two that say the same from both sides. */
export function pairsOf(crew: Crew): CrewRelation[] {
  const at = (id: string) => crew.members.findIndex((one) => one.id === id);
  return crew.relations.filter((one) => !one.isMutual || at(one.member) > at(one.other));
}

/** How the members stand to each other: a picture, the same as a table, and what changes it. */
export function CrewRelations({ crew, onChange }: { crew: Crew; onChange: () => void }) {
  const t = useT();
  const reason = useReason();
  const word = useRelationWord();
  const rows = pairsOf(crew);
  const act = (work: Promise<unknown>) => void work.catch(sayError).then(onChange);
  const name = (id: string) => crew.members.find((one) => one.id === id)?.name || id;
  const isLopsided = rows.some((one) => one.kind === "member" && !one.isMutual);
  return (
    <>
      {crew.members.length > 1 && <CrewPicture crew={crew} />}
      <p className="muted">{t("relations.about")}</p>
      {rows.length === 0 ? (
        <p className="faint">{t("relations.none")}</p>
      ) : (
        <div className="table" tabIndex={0} role="group" aria-label={t("relations")}>
          <table className="data-table">
            <thead>
              <tr>
                <th>{t("relations.who")}</th>
                <th>{t("relations.is")}</th>
                <th>{t("relations.of")}</th>
                <th>{t("relations.note")}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {rows.map((one) => (
                <tr key={`${one.member} ${one.other} ${one.relation}`}>
                  <td>
                    {one.kind === "member" ? name(one.other) : one.name}{" "}
                    {one.kind !== "member" && <span className={one.kind === "nobody" ? "badge warn" : "badge"}>{t(`relations.${one.kind}`)}</span>}
                  </td>
                  <td>
                    {word(one.relation) || "–"}{" "}
                    {one.kind === "member" && !one.isMutual && <span className="badge warn">{t("relations.lopsided")}</span>}
                  </td>
                  <td>{name(one.member)}</td>
                  <td className="muted">{[word(one.strength), one.note].filter(Boolean).join(" · ")}</td>
                  <td>
                    <button
                      type="button"
                      className="button small"
                      aria-label={t("relations.remove.one", { one: name(one.member), other: one.name })}
                      onClick={() => act(api.unrelate(one.member, one.other))}
                    >
                      {t("relations.remove")}
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {crew.findings.map((one) => (
        <p key={`${one.subject} ${one.message}`} className="note warn">
          {one.subject}: {reason(one.message)}
        </p>
      ))}
      {isLopsided && (
        <p>
          <button type="button" className="button" onClick={() => act(api.mendRelations())}>
            {t("relations.mend")}
          </button>
        </p>
      )}
      {crew.members.length > 1 && <AddRelation crew={crew} act={act} />}
    </>
  );
}

function AddRelation({ crew, act }: { crew: Crew; act: (work: Promise<unknown>) => void }) {
  const t = useT();
  const [given, setGiven] = useState({ member: "", relation: "superior", other: "", strength: "", note: "" });
  const set = (key: keyof typeof given) => (event: { target: { value: string } }) => setGiven({ ...given, [key]: event.target.value });
  const people = (key: "member" | "other", label: string) => (
    <select className="input narrow" aria-label={label} value={given[key]} onChange={set(key)} required>
      <option value="">{label}</option>
      {crew.members.map((one) => (
        <option key={one.id} value={one.id}>
          {one.name || one.id}
        </option>
      ))}
    </select>
  );
  return (
    <form
      className="row wrap"
      aria-label={t("relations.add")}
      onSubmit={(event) => {
        event.preventDefault();
        act(api.relate(given).then(() => setGiven({ ...given, member: "", other: "", note: "" })));
      }}
    >
      {people("member", t("relations.who"))}
      <select className="input narrow" aria-label={t("relations.is")} value={given.relation} onChange={set("relation")}>
        {RELATIONS.map((one) => (
          <option key={one} value={one}>
            {t(`relation.${one}`)}
          </option>
        ))}
      </select>
      {people("other", t("relations.of"))}
      <select className="input narrow" aria-label={t("relations.strength")} value={given.strength} onChange={set("strength")}>
        <option value="">{t("relations.strength")}</option>
        {STRENGTHS.map((one) => (
          <option key={one} value={one}>
            {t(`relation.${one}`)}
          </option>
        ))}
      </select>
      <input className="input narrow" aria-label={t("relations.note")} placeholder={t("relations.note")} value={given.note} maxLength={2000} onChange={set("note")} />
      <button type="submit" className="button" disabled={!given.member || !given.other || given.member === given.other}>
        {t("relations.add")}
      </button>
    </form>
  );
}
