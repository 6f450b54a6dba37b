import { useMemo, useRef } from "react";
import { api } from "../api/api";
import { refreshThreads } from "../api/threads";
import type { Thread } from "../api/types";
import { Platform } from "../chat/Platform";
import { useT } from "../i18n";
import { dayGroup, useFormat, type DayGroup } from "../i18n/format";
import { IconButton } from "../ui/IconButton";
import { sayError } from "../ui/toast";
import { useVirtual } from "../ui/useVirtual";
import { link } from "./route";
import { useMemberName } from "./session";

interface Props {
  threads: Thread[] | undefined;
  current: string | undefined;
  shelf: "open" | "archived" | "bin";
  onChange?: () => void;
  onMore?: () => void;
  inner?: boolean;
}

type Line = { key: string; group: DayGroup } | { key: string; thread: Thread };

const GROUPS: DayGroup[] = ["today", "yesterday", "week", "earlier"];
const NEAR_PX = 800;

/** Puts the name of a day before its threads, all as lines of one list. */
function linesOf(threads: Thread[]): Line[] {
  const days = new Map<DayGroup, Line[]>();
  for (const thread of threads) {
    const group = dayGroup(thread.lastAt);
    const lines = days.get(group) ?? [{ key: group, group }];
    lines.push({ key: thread.id, thread });
    days.set(group, lines);
  }
  return GROUPS.flatMap((group) => days.get(group) ?? []);
}

export function ThreadList({ threads, current, shelf, onChange, onMore, inner }: Props) {
  const t = useT();
  const box = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => linesOf(threads ?? []), [threads]);
  const keys = useMemo(() => lines.map(({ key }) => key), [lines]);
  const { drawn } = useVirtual(keys, box, { guess: 52 });
  const asked = useRef(0);
  const onScroll = () => {
    const element = box.current;
    const isNear = element && element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
    if (!isNear || !onMore || asked.current === lines.length) return;
    asked.current = lines.length;
    onMore();
  };
  if (!threads) return <div className="side-list" aria-busy="true" />;
  if (threads.length === 0) {
    return <p className="side-list side-empty">{t(shelf === "open" ? "threads.none" : `${shelf}.none`)}</p>;
  }
  const line = (place: number) => {
    const found = lines[place];
    if (!found) return null;
    if ("thread" in found) {
      return <Row key={found.key} thread={found.thread} isCurrent={found.key === current} shelf={shelf} onChange={onChange} />;
    }
    return (
      <li key={found.key} data-row={found.key}>
        <h2 className="side-group">{t(`day.${found.group}`)}</h2>
      </li>
    );
  };
  return (
    <div className={inner ? undefined : "side-list"} ref={box} onScroll={onScroll}>
      <ul>
        {drawn.map((one) => ("row" in one ? line(one.row) : <li key={one.key} className="room" aria-hidden="true" style={{ height: one.room }} />))}
      </ul>
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
  const member = useMemberName(thread.member);
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
        <span className="truncate">{thread.branchOf ? t("branch.of", { title: thread.branchOf.title || t("untitled") }) : member}</span>
        {thread.platform !== "web" && <Platform name={thread.platform} />}
      </span>
    </>
  );
  return (
    <li className="thread-row" data-row={thread.id}>
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
