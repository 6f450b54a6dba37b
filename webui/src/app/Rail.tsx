import { waiting } from "../api/live";
import { useCell } from "../api/use";
import { useT, type Word } from "../i18n";
import mark from "../style/mark.svg";
import { Icon, type IconName } from "../ui/Icon";
import type { PageName } from "./pages";
import { link } from "./route";

const LINKS: { page: PageName | ""; icon: IconName; word: Word }[] = [
  { page: "", icon: "chat", word: "nav.threads" },
  { page: "approvals", icon: "shield", word: "nav.approvals" },
  { page: "members", icon: "users", word: "nav.members" },
  { page: "memory", icon: "book", word: "nav.memory" },
  { page: "skills", icon: "spark", word: "nav.skills" },
  { page: "tasks", icon: "clock", word: "nav.tasks" },
  { page: "priming", icon: "script", word: "nav.priming" },
  { page: "platforms", icon: "signal", word: "nav.platforms" },
  { page: "usage", icon: "chart", word: "nav.usage" },
  { page: "audit", icon: "list", word: "nav.audit" },
];

export function Rail({ page, onHelp }: { page: string; onHelp: () => void }) {
  const t = useT();
  const asked = useCell(waiting);
  return (
    <nav className="rail" aria-label={t("nav")}>
      <a className="mark" href={link("")} aria-label="Shipmate">
        <img src={mark} alt="" />
      </a>
      {LINKS.map((item) => (
        <a key={item.page} className="rail-link" href={link(item.page)} aria-current={page === item.page ? "page" : undefined}>
          <Icon name={item.icon} />
          {t(item.word)}
          {item.page === "approvals" && asked > 0 && (
            <span className="rail-count" aria-label={t("approvals.waiting", { n: asked })}>
              {asked}
            </span>
          )}
        </a>
      ))}
      <span className="rail-gap" />
      <button type="button" className="rail-link" onClick={onHelp}>
        <Icon name="help" />
        {t("nav.help")}
      </button>
      <a className="rail-link" href={link("settings")} aria-current={page === "settings" ? "page" : undefined}>
        <Icon name="gear" />
        {t("nav.settings")}
      </a>
    </nav>
  );
}
