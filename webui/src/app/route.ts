import { useSyncExternalStore } from "react";

/** The address after `#`: a page name, and the rest as decoded pieces. */
export interface Route {
  page: string;
  pieces: string[];
  /** What stands behind `?`: a place inside the page. */
  query: URLSearchParams;
}

let seen = "\0";
let current: Route = { page: "", pieces: [], query: new URLSearchParams() };

function read(): Route {
  const hash = window.location.hash.replace(/^#\/?/, "");
  if (hash !== seen) {
    seen = hash;
    const [path = "", query = ""] = hash.split("?");
    const [page = "", ...rest] = path.split("/").map(safeDecode);
    current = { page, pieces: rest, query: new URLSearchParams(query) };
  }
  return current;
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function subscribe(listener: () => void): () => void {
  window.addEventListener("hashchange", listener);
  return () => window.removeEventListener("hashchange", listener);
}

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, read);
}

export function link(page: string, ...pieces: string[]): string {
  return `#/${[page, ...pieces].map(encodeURIComponent).join("/")}`;
}

export function go(page: string, ...pieces: string[]): void {
  window.location.hash = link(page, ...pieces);
}

/** Leads to a message of a thread, with words to be marked in it. */
export function messageLink(threadId: string, messageId: string, words = ""): string {
  return `${link("t", threadId)}?${new URLSearchParams({ m: messageId, ...(words ? { q: words } : {}) })}`;
}

/** Names the thread that is shown. */
export function threadHere(): string | undefined {
  const { page, pieces } = read();
  return page === "t" ? pieces.join("/") : undefined;
}
