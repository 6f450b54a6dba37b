import { useSession } from "../app/session";
import { useT } from "../i18n";
import { colourOf } from "./Crew";
import type { Mention } from "./useMention";

/** The members that a beginning `@` may mean. */
export function MentionList({ mention }: { mention: Mention }) {
  const t = useT();
  const { members } = useSession();
  const { found, at, id, take } = mention;
  return (
    <>
      {found.length > 0 && (
        <ul className="mentions" role="listbox" id={id} aria-label={t("crew.mention")}>
          {found.map((one, index) => (
            <li
              key={one.id}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === at}
              onMouseDown={(event) => {
                // The field keeps the focus.
                event.preventDefault();
                take(one);
              }}
            >
              <i className="member-dot" style={{ background: colourOf(members, one.id) }} aria-hidden="true" />
              <strong>{one.name || one.id}</strong>
              <span className="faint mono">@{one.id}</span>
            </li>
          ))}
        </ul>
      )}
      <p className="hidden-visually" role="status">
        {found.length > 0 ? t("crew.mention.n", { n: found.length }) : ""}
      </p>
    </>
  );
}
