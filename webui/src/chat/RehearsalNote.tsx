import type { ModelInfo } from "../api/types";
import { link } from "../app/route";
import { useT } from "../i18n";

/** Says quietly which model answers, and where a key goes while it is only the rehearsal model. */
export function RehearsalNote({ model }: { model: ModelInfo }) {
  const t = useT();
  return (
    <p className="model-line">
      {model.isRehearsal ? (
        <>
          {t("rehearsal")} <a href={link("settings")}>{t("rehearsal.key")}</a>
        </>
      ) : (
        model.name
      )}
    </p>
  );
}
