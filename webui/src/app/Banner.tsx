import type { Mode } from "../api/types";
import { useT } from "../i18n";
import { Icon } from "../ui/Icon";

/** Says what holds for everything below: a lost server, or a permission mode other than asking. */
export function Banner({ mode, isLost }: { mode: Mode; isLost: boolean }) {
  const t = useT();
  return (
    <>
      {mode === "yolo" && (
        <div className="banner loud" role="alert">
          <Icon name="alert" />
          {t("mode.yolo")}
        </div>
      )}
      {mode === "read-only" && <div className="banner">{t("mode.readOnly")}</div>}
      {mode === "auto-edit" && <div className="banner">{t("mode.autoEdit")}</div>}
      <div role="status" aria-live="polite">
        {isLost && (
          <div className="banner lost">
            <span className="spinner" />
            {t("offline")}
          </div>
        )}
      </div>
    </>
  );
}
