import { useState, type ReactNode } from "react";
import { useT } from "../i18n";
import { Icon } from "../ui/Icon";

/** Marks the messages a priming script put before the conversation; hidden ones can still be looked at. */
export function Primed({ count, isHidden, children }: { count: number; isHidden: boolean; children: ReactNode }) {
  const t = useT();
  const [chosen, setChosen] = useState<boolean>();
  const isShown = chosen ?? !isHidden;
  return (
    <section className="primed" data-row="primed" aria-label={t("primed", { n: count })}>
      <button type="button" className="separator" aria-expanded={isShown} onClick={() => setChosen(!isShown)}>
        <span>
          <Icon name="script" tiny />
          {t("primed", { n: count })}
          <Icon name="chevron" tiny />
        </span>
      </button>
      {isShown && children}
      {isShown && <div className="separator end" aria-hidden="true" />}
    </section>
  );
}
