import type { FileUIPart } from "ai";
import { useCallback, useRef, useState } from "react";
import { api } from "../api/api";
import { sayError } from "../ui/toast";

export interface Attachment {
  key: number;
  name: string;
  preview: string | undefined;
  file: FileUIPart | undefined;
}

/** Uploads what was picked, pasted or dropped, and keeps it until the message is sent. */
export function useAttachments() {
  const [items, setItems] = useState<Attachment[]>([]);
  const count = useRef(0);

  const remove = useCallback((key: number) => setItems((now) => now.filter((item) => item.key !== key)), []);

  const add = useCallback(
    (files: File[]) => {
      for (const file of files) {
        const key = ++count.current;
        const preview = file.type.startsWith("image/") ? URL.createObjectURL(file) : undefined;
        setItems((now) => [...now, { key, name: file.name, preview, file: undefined }]);
        api.upload(file).then(
          (done) => {
            const part: FileUIPart = { type: "file", url: done.url, mediaType: done.mediaType, filename: done.filename };
            setItems((now) => now.map((item) => (item.key === key ? { ...item, file: part } : item)));
          },
          (error: unknown) => {
            sayError(error);
            remove(key);
          },
        );
      }
    },
    [remove],
  );

  return {
    items,
    files: items.flatMap((item) => (item.file ? [item.file] : [])),
    isUploading: items.some((item) => !item.file),
    add,
    remove,
    clear: () => setItems([]),
  };
}
