import { useSyncExternalStore } from "react";

/** The address after `#`: a page name, and the rest as decoded pieces. */
export interface Route {
  page: string;
  pieces: string[];
}

let seen = "\0";
let current: Route = { page: "", pieces: [] };

function read(): Route {
  const hash = window.location.hash.replace(/^#\/?/, "");
  if (hash !== seen) {
    seen = hash;
    const [page = "", ...rest] = hash.split("/").map(safeDecode);
    current = { page, pieces: rest };
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
