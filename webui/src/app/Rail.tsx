import { waiting } from "../api/live";
import type { Role } from "../api/types";
import { useCell } from "../api/use";
import { useT, type Word } from "../i18n";
import mark from "../style/mark.svg";
import { Icon, type IconName } from "../ui/Icon";
import type { PageName } from "./pages";
import { link } from "./route";
import { useMay, useSession } from "./session";

/** Each with the least role that has it; admins have all. */
const LINKS: { page: PageName | ""; icon: IconName; word: Word; role?: Role }[] = [
  { page: "", icon: "chat", word: "nav.threads", role: "guest" },
  { page: "approvals", icon: "shield", word: "nav.approvals", role: "guest" },
  { page: "members", icon: "users", word: "nav.members" },
  { page: "memory", icon: "book", word: "nav.memory" },
  { page: "skills", icon: "spark", word: "nav.skills", role: "member" },
  { page: "tasks", icon: "clock", word: "nav.tasks" },
  { page: "priming", icon: "script", word: "nav.priming" },
  { page: "platforms", icon: "signal", word: "nav.platforms" },
  { page: "usage", icon: "chart", word: "nav.usage", role: "guest" },
  { page: "audit", icon: "list", word: "nav.audit" },
];

export function Rail({ page, onHelp }: { page: string; onHelp: () => void }) {
  const t = useT();
  const asked = useCell(waiting);
  const session = useSession();
  const isAdmin = useMay("admin");
  const isMember = useMay("member");
  const links = LINKS.filter((item) => isAdmin || item.role === "guest" || (item.role === "member" && isMember));
  return (
    <nav className="rail" aria-label={t("nav")}>
      <a className="mark" href={link("")} aria-label="Shipmate">
        <img src={mark} alt="" />
      </a>
      {links.map((item) => (
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
      {session.hasTeam && (
        <a className="rail-link" href={link("team")} aria-current={page === "team" ? "page" : undefined}>
          <Icon name="users" />
          {t("nav.team")}
        </a>
      )}
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
