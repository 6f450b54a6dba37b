import { useEffect, useRef, useState } from "react";
import { api } from "../api/api";
import { useChange } from "../api/live";
import { hasMoreThreads, showMoreThreads, threads } from "../api/threads";
import type { FileHit, Hit, Thread } from "../api/types";
import { useCell, useLoad } from "../api/use";
import { useT } from "../i18n";
import { Icon } from "../ui/Icon";
import { Problem } from "../ui/State";
import { sayError } from "../ui/toast";
import { link, messageLink } from "./route";
import { useSession } from "./session";
import { ThreadList } from "./ThreadList";

const FOUND = 50;
const SHELVED = 100;

type Shelf = "open" | "archived" | "bin";

export function Sidebar({ current, onNew }: { current: string | undefined; onNew: () => void }) {
  const t = useT();
  const session = useSession();
  const [words, setWords] = useState("");
  const [shelf, setShelf] = useState<Shelf>("open");
  const open = useCell(threads);
  const hasMore = useCell(hasMoreThreads);
  return (
    <aside className="side" aria-label={t("nav.threads")}>
      <div className="side-head">
        <div className="row">
          <span className="side-name truncate grow">{session.workspace.name}</span>
        </div>
        <button type="button" className="button primary" onClick={onNew}>
          <Icon name="plus" tiny />
          {t("dialog.new")}
        </button>
        <div className="search">
          <Icon name="search" />
          <input
            id="search"
            className="input"
            type="search"
            aria-label={t("search")}
            placeholder={t("search")}
            value={words}
            onChange={(event) => setWords(event.target.value)}
          />
        </div>
      </div>
      {words.trim() ? (
        <Found words={words.trim()} current={current} />
      ) : shelf === "open" ? (
        <ThreadList threads={open} current={current} shelf="open" onMore={hasMore ? () => void showMoreThreads() : undefined} />
      ) : (
        <Stored key={shelf} shelf={shelf} current={current} />
      )}
      <div className="side-foot" role="group" aria-label={t("shelf")}>
        {(["open", "archived", "bin"] as const).map((name) => (
          <button key={name} type="button" aria-pressed={shelf === name} onClick={() => setShelf(name)}>
            {t(`shelf.${name}`)}
          </button>
        ))}
      </div>
    </aside>
  );
}

/** Reads as many pages of a shelf as are shown. */
async function readShelf(shelf: Exclude<Shelf, "open">, pages: number): Promise<{ threads: Thread[]; next: string | null }> {
  const threads: Thread[] = [];
  let next: string | null = null;
  for (let page = 0; page < pages && (page === 0 || next); page++) {
    const found = await api.threads({ [shelf]: true, limit: SHELVED, before: next ?? undefined });
    threads.push(...found.threads);
    next = found.next;
  }
  return { threads, next };
}

function Stored({ shelf, current }: { shelf: Exclude<Shelf, "open">; current: string | undefined }) {
  const pages = useRef(1);
  const found = useLoad(() => readShelf(shelf, pages.current), shelf);
  const reload = () => void found.reload();
  useChange(["threads"], reload);
  const more = () => {
    pages.current++;
    reload();
  };
  if (found.error) return <Problem error={found.error} onRetry={reload} />;
  return <ThreadList threads={found.data?.threads} current={current} shelf={shelf} onChange={reload} onMore={found.data?.next ? more : undefined} />;
}

function Found({ words, current }: { words: string; current: string | undefined }) {
  const t = useT();
  const [hits, setHits] = useState<Hit[]>();
  const [files, setFiles] = useState<FileHit[]>([]);
  const [titles, setTitles] = useState<Thread[]>();
  const [next, setNext] = useState<string | null>(null);
  useEffect(() => {
    let isStale = false;
    const timer = window.setTimeout(() => {
      Promise.all([api.search(words), api.threads({ query: words, limit: FOUND })]).then(
        ([inside, named]) => {
          if (isStale) return;
          setHits(inside.hits);
          setFiles(inside.files);
          setTitles(named.threads);
          setNext(named.next);
        },
        () => !isStale && setHits([]),
      );
    }, 120);
    return () => {
      isStale = true;
      window.clearTimeout(timer);
    };
  }, [words]);
  const more = async (before: string) => {
    const found = await api.threads({ query: words, limit: FOUND, before });
    setTitles((now) => [...(now ?? []), ...found.threads]);
    setNext(found.next);
  };
  // One line per thread: the best hit stands for the others.
  const others = hits?.filter(
    (hit, index) =>
      !titles?.some((thread) => thread.id === hit.threadId) &&
      hits.findIndex((other) => other.threadId === hit.threadId) === index,
  );
  return (
    <div className="side-list" aria-live="polite">
      {titles && titles.length > 0 && (
        <ThreadList threads={titles} current={current} shelf="open" onMore={next ? () => void more(next).catch(sayError) : undefined} inner />
      )}
      {others && others.length > 0 && <p className="side-group">{t("search.inside")}</p>}
      <ul>
        {others?.map((hit) => (
          <li key={hit.messageId}>
            <a className="thread-link" href={messageLink(hit.threadId, hit.messageId, words)}>
              <span className="thread-title truncate">{hit.title || t("untitled")}</span>
              <span className="thread-sub">
                <span className="truncate">{hit.snippet.replace(/<\/?(b|mark)>/g, "")}</span>
              </span>
            </a>
          </li>
        ))}
      </ul>
      {files.length > 0 && <p className="side-group">{t("search.files")}</p>}
      <ul>
        {files.map((file) => (
          <li key={`${file.path}:${file.line}`}>
            <a className="thread-link" href={link(file.kind === "script" ? "priming" : "memory", file.path)}>
              <span className="thread-title truncate">{file.path}</span>
              <span className="thread-sub">
                <span className="truncate">{file.snippet}</span>
              </span>
            </a>
          </li>
        ))}
      </ul>
      {hits?.length === 0 && titles?.length === 0 && files.length === 0 && <p className="side-empty">{t("search.none")}</p>}
    </div>
  );
}
