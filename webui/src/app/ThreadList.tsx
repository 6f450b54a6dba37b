import { api } from "../api/api";
import { refreshThreads } from "../api/threads";
import type { Thread } from "../api/types";
import { Platform } from "../chat/Platform";
import { useT } from "../i18n";
import { dayGroup, useFormat, type DayGroup } from "../i18n/format";
import { IconButton } from "../ui/IconButton";
import { sayError } from "../ui/toast";
import { link } from "./route";

interface Props {
  threads: Thread[] | undefined;
  current: string | undefined;
  shelf: "open" | "archived" | "bin";
  onChange?: () => void;
  onMore?: () => void;
  inner?: boolean;
}

const GROUPS: DayGroup[] = ["today", "yesterday", "week", "earlier"];

export function ThreadList({ threads, current, shelf, onChange, onMore, inner }: Props) {
  const t = useT();
  if (!threads) return <div className="side-list" aria-busy="true" />;
  if (threads.length === 0) {
    return <p className="side-list side-empty">{t(shelf === "open" ? "threads.none" : `${shelf}.none`)}</p>;
  }
  const groups = GROUPS.map((group) => ({ group, items: threads.filter((one) => dayGroup(one.lastAt) === group) }));
  return (
    <div className={inner ? undefined : "side-list"}>
      {groups
        .filter(({ items }) => items.length > 0)
        .map(({ group, items }) => (
          <section key={group}>
            <h2 className="side-group">{t(`day.${group}`)}</h2>
            <ul>
              {items.map((thread) => (
                <Row key={thread.id} thread={thread} isCurrent={thread.id === current} shelf={shelf} onChange={onChange} />
              ))}
            </ul>
          </section>
        ))}
      {onMore && (
        <button type="button" className="button small quiet more" onClick={onMore}>
          {t("threads.more")}
        </button>
      )}
    </div>
  );
}

interface RowProps {
  thread: Thread;
  isCurrent: boolean;
  shelf: Props["shelf"];
  onChange?: () => void;
}

function Row({ thread, isCurrent, shelf, onChange }: RowProps) {
  const t = useT();
  const format = useFormat();
  const restore = () => {
    const act = shelf === "bin" ? api.restoreThread(thread.id) : api.changeThread(thread.id, { archived: false });
    void act.catch(sayError).then(refreshThreads).then(onChange);
  };
  const content = (
    <>
      <span className="thread-title truncate">{thread.title || t("untitled")}</span>
      <time className="thread-when" dateTime={thread.lastAt}>
        {format.short(thread.lastAt)}
      </time>
      <span className="thread-sub">
        <Mark thread={thread} isCurrent={isCurrent} />
        <span className="truncate">{thread.member}</span>
        {thread.platform !== "web" && <Platform name={thread.platform} />}
      </span>
    </>
  );
  return (
    <li className="thread-row">
      {shelf === "bin" ? (
        <div className="thread-link">{content}</div>
      ) : (
        <a
          className={thread.unread && !isCurrent ? "thread-link unread" : "thread-link"}
          href={link("t", thread.id)}
          aria-current={isCurrent ? "page" : undefined}
        >
          {content}
        </a>
      )}
      {shelf !== "open" && <IconButton icon="restore" look="small" label={t("restore")} onClick={restore} />}
    </li>
  );
}

function Mark({ thread, isCurrent }: { thread: Thread; isCurrent: boolean }) {
  const t = useT();
  if (thread.pendingApprovals > 0) return <span className="dot waiting" role="img" aria-label={t("waiting")} title={t("waiting")} />;
  if (thread.running) return <span className="dot running" role="img" aria-label={t("running")} title={t("running")} />;
  if (thread.unread && !isCurrent) return <span className="dot" role="img" aria-label={t("unread")} title={t("unread")} />;
  return null;
}
