import type { ScriptView } from "../api/types";
import { link } from "../app/route";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";

/** The threads a script began. */
export function PrimingUses({ uses }: { uses: ScriptView["uses"] }) {
  const t = useT();
  const format = useFormat();
  return (
    <section className="script-uses" aria-labelledby="script-uses">
      <h2 id="script-uses">{t("script.uses")}</h2>
      {uses.length === 0 && <p className="faint">{t("script.unused")}</p>}
      <ul>
        {uses.map((use) => (
          <li key={use.threadId}>
            <a href={link("t", use.threadId)}>{use.title || t("untitled")}</a> <span className="faint">{format.full(use.at)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
