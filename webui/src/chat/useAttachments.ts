import type { FileUIPart } from "ai";
import { useCallback, useEffect, useRef, useState } from "react";
import { api } from "../api/api";
import { ApiError, gate } from "../api/client";
import { useCell } from "../api/use";
import { sayError } from "../ui/toast";
import { keepFiles, readFiles, type KeptFile } from "./fileStore";

export interface Attachment extends KeptFile {
  key: number;
  preview: string | undefined;
}

/** Uploads what was picked, pasted or dropped, and keeps it until the message is sent, over reloads and lost connections. */
export function useAttachments(place: string) {
  const [items, setItems] = useState<Attachment[]>([]);
  const [isRead, setRead] = useState(false);
  const count = useRef(0);
  const begun = useRef(new Set<number>());
  const connection = useCell(gate);
  const latest = useRef(items);
  latest.current = items;

  const put = useCallback((files: KeptFile[]) => {
    const added = files.map((file) => ({ ...file, key: ++count.current, preview: previewOf(file) }));
    setItems((now) => [...now, ...added]);
  }, []);
  const remove = useCallback((key: number) => setItems((now) => now.filter((item) => item.key !== key)), []);

  useEffect(() => {
    let isGone = false;
    void readFiles(place).then((files) => {
      if (isGone) return;
      put(files);
      setRead(true);
    });
    return () => {
      isGone = true;
    };
  }, [place, put]);

  useEffect(() => {
    if (isRead) keep(place, items);
  }, [isRead, items, place]);

  useEffect(() => {
    if (connection !== "open") return;
    for (const { key, part, whole } of items) {
      if (part || !whole || begun.current.has(key)) continue;
      begun.current.add(key);
      api.upload(whole).then(
        ({ url, mediaType, filename }) => {
          const done: FileUIPart = { type: "file", url, mediaType, filename };
          setItems((now) => now.map((item) => (item.key === key ? { ...item, part: done } : item)));
        },
        (error: unknown) => {
          begun.current.delete(key);
          // A server that is away is asked again when it is back; one that said no says it again.
          if (error instanceof ApiError && error.status === 0) return;
          sayError(error);
          remove(key);
        },
      );
    }
  }, [connection, items, remove]);

  return {
    items,
    files: items.flatMap((item) => (item.part ? [item.part] : [])),
    isUploading: items.some((item) => !item.part),
    add: (files: File[]) => put(files.map((whole) => ({ name: whole.name, whole }))),
    restore: (files: FileUIPart[]) => put(files.map((part) => ({ name: part.filename ?? part.mediaType, part }))),
    remove,
    /** Takes off what was sent; what came meanwhile stays. */
    clear: (sent: FileUIPart[]) => {
      const left = latest.current.filter((item) => !item.part || !sent.includes(item.part));
      setItems(left);
      // The view may be gone by now, and draws and keeps no more.
      keep(place, left);
    },
  };
}

function keep(place: string, items: Attachment[]): void {
  keepFiles(place, items.map(({ name, part, whole }) => (part ? { name, part } : { name, whole })));
}

function previewOf({ part, whole }: KeptFile): string | undefined {
  if (part) return part.mediaType.startsWith("image/") ? part.url : undefined;
  return whole?.type.startsWith("image/") ? URL.createObjectURL(whole) : undefined;
}
