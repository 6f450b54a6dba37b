import type { FileUIPart } from "ai";
import { session } from "../app/session";

/** A file of a draft: uploaded already, or still held whole by this browser. */
export interface KeptFile {
  name: string;
  part?: FileUIPart;
  whole?: File;
}

const STORE = "files";

let opened: Promise<IDBDatabase> | undefined;

function open(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("shipmate", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("no database"));
  });
  return opened;
}

async function ask(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  const database = await open();
  return new Promise((resolve, reject) => {
    const request = act(database.transaction(STORE, mode).objectStore(STORE));
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("refused"));
  });
}

const keyOf = (place: string) => `${session.get()?.workspace.id ?? ""}/${place}`;

/** Reads the files of a draft. A browser without a database holds them as long as the page is open. */
export async function readFiles(place: string): Promise<KeptFile[]> {
  const found = await ask("readonly", (store) => store.get(keyOf(place))).catch(() => undefined);
  return Array.isArray(found) ? (found as KeptFile[]) : [];
}

export function keepFiles(place: string, files: KeptFile[]): void {
  const key = keyOf(place);
  void ask("readwrite", (store) => (files.length > 0 ? store.put(files, key) : store.delete(key))).catch(() => undefined);
}
