import { useEffect, useLayoutEffect, useRef, useState, type ClipboardEvent, type KeyboardEvent } from "react";
import { useT } from "../i18n";
import { dropDraft, keepDraft, readDraft } from "../page/draft";
import { Icon } from "../ui/Icon";
import { IconButton } from "../ui/IconButton";
import { Chips } from "./Chips";
import { wordsKey, type Draft } from "./draft";
import { usePromptFocus } from "./focus";
import { useAttachments } from "./useAttachments";
import { MentionList } from "./MentionList";
import { useDrop } from "./useDrop";
import { useMention } from "./useMention";
import { VoiceButton } from "./VoiceButton";

interface Props {
  /** Names the draft: a thread, or where a new one begins. */
  place: string;
  placeholder: string;
  isBusy: boolean;
  returned?: Draft;
  /** Gives whether it was taken; what was not stays written. */
  onSend: (draft: Draft) => Promise<boolean>;
  onSteer?: (text: string) => Promise<boolean>;
  onStop?: () => void;
}

const MAX_HEIGHT = 260;

/** Where a person writes: Enter sends, Shift+Enter makes a line, files come by button, paste or drop. */
export function PromptInput({ place, placeholder, isBusy, returned, onSend, onSteer, onStop }: Props) {
  const t = useT();
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const [text, setText, takeWords] = useWords(place);
  const attachments = useAttachments(place);
  const isOver = useDrop(attachments.add);
  const [recorded, setRecorded] = useState<File>();
  const sending = useRef<string | undefined>(undefined);
  const mention = useMention(area, text, setText);
  usePromptFocus(area);

  useEffect(() => {
    if (!returned) return;
    setText((now) => [returned.text, now].filter(Boolean).join("\n\n"));
    attachments.restore(returned.files);
    // What came back is put in once, however often the page is drawn.
  }, [returned]);

  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, MAX_HEIGHT)}px`;
  }, [text]);

  const canSend = (text.trim() !== "" || attachments.files.length > 0) && !attachments.isUploading;
  /** Hands the words over; they leave the field when they are taken, and what was written meanwhile stays. */
  const give = async (files: Draft["files"], act: (draft: Draft) => Promise<boolean>) => {
    const key = JSON.stringify([text, files]);
    if (sending.current === key) return;
    sending.current = key;
    const isTaken = await act({ text: text.trim(), files });
    sending.current = undefined;
    if (!isTaken) return;
    takeWords(text);
    attachments.clear(files);
  };
  const send = () => {
    if (canSend) void give(attachments.files, onSend);
  };
  // What was recorded goes as soon as it is uploaded, with the words beside it; other files stay for the next message.
  useEffect(() => {
    const part = attachments.items.find((item) => item.whole === recorded && item.part)?.part;
    if (!recorded || !part) return;
    setRecorded(undefined);
    void give([part], onSend);
  }, [attachments.items, recorded]);
  const steer = () => {
    if (text.trim() && onSteer) void give([], (draft) => onSteer(draft.text));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter that only closes an input method's candidate list must not send.
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (mention.onKey(event)) return;
    if (event.key === "Escape" && isBusy && onStop) onStop();
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    if (event.altKey && isBusy) steer();
    else send();
  };
  const isNaming = mention.found.length > 0;
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    attachments.add(files);
  };

  return (
    <form
      className={isOver ? "prompt over" : "prompt"}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Chips items={attachments.items} onRemove={attachments.remove} />
      <MentionList mention={mention} />
      <textarea
        ref={area}
        id="prompt"
        rows={1}
        aria-label={placeholder}
        aria-autocomplete="list"
        aria-controls={isNaming ? mention.id : undefined}
        aria-activedescendant={isNaming ? `${mention.id}-${mention.at}` : undefined}
        placeholder={isOver ? t("drop") : placeholder}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          mention.onCaret();
        }}
        onSelect={mention.onCaret}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <div className="prompt-tools">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label={t("attach")}
          onChange={(event) => {
            attachments.add([...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
        <IconButton icon="clip" label={t("attach")} onClick={() => picker.current?.click()} />
        <VoiceButton
          onRecorded={(file) => {
            attachments.add([file]);
            setRecorded(file);
          }}
        />
        <span className="grow" />
        {isBusy && onSteer && (
          <button type="button" className="button small quiet" disabled={!text.trim()} onClick={steer} title={t("steer.hint")}>
            <Icon name="steer" tiny />
            {t("steer")}
          </button>
        )}
        {isBusy && onStop && <IconButton icon="stop" label={t("stop")} onClick={onStop} className="stop" />}
        {(!isBusy || canSend || !onStop) && (
          <IconButton type="submit" icon="send" look="solid" label={t(isBusy ? "queue.add" : "send")} disabled={!canSend} />
        )}
      </div>
    </form>
  );
}

/** Keeps the words of a draft in this browser while they are written. */
function useWords(place: string) {
  const key = wordsKey(place);
  const [text, setText] = useState(() => readDraft(key)?.text ?? "");
  useEffect(() => {
    if (text) keepDraft(key, { text, version: null });
    else if (readDraft(key)) dropDraft(key);
  }, [key, text]);
  const take = (sent: string) => {
    setText((now) => (now.startsWith(sent) ? now.slice(sent.length) : now));
    // The view may be gone by now, and keeps no more.
    if (readDraft(key)?.text === sent) dropDraft(key);
  };
  return [text, setText, take] as const;
}
