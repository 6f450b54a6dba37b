import { useEffect, useLayoutEffect, useRef, useState, type ClipboardEvent, type DragEvent, type KeyboardEvent } from "react";
import { useT } from "../i18n";
import { Icon } from "../ui/Icon";
import { IconButton } from "../ui/IconButton";
import { Chips } from "./Chips";
import type { Draft } from "./draft";
import { useAttachments } from "./useAttachments";
import { VoiceButton } from "./VoiceButton";

interface Props {
  placeholder: string;
  isBusy: boolean;
  returned?: Draft;
  onSend: (draft: Draft) => void;
  onSteer?: (text: string) => void;
  onStop?: () => void;
}

const MAX_HEIGHT = 260;

/** Where a person writes: Enter sends, Shift+Enter makes a line, files come by button, paste or drop. */
export function PromptInput({ placeholder, isBusy, returned, onSend, onSteer, onStop }: Props) {
  const t = useT();
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [isOver, setOver] = useState(false);
  const attachments = useAttachments();

  useEffect(() => {
    if (returned) setText((now) => now || returned.text);
  }, [returned]);

  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, MAX_HEIGHT)}px`;
  }, [text]);

  const canSend = (text.trim() !== "" || attachments.files.length > 0) && !attachments.isUploading;
  const send = () => {
    if (!canSend) return;
    onSend({ text: text.trim(), files: attachments.files });
    setText("");
    attachments.clear();
  };
  const steer = () => {
    if (!text.trim() || !onSteer) return;
    onSteer(text.trim());
    setText("");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter that only closes an input method's candidate list must not send.
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape" && isBusy && onStop) onStop();
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    if (event.altKey && isBusy) steer();
    else send();
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    attachments.add(files);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    attachments.add([...event.dataTransfer.files]);
  };

  return (
    <form
      className={isOver ? "prompt over" : "prompt"}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <Chips items={attachments.items} onRemove={attachments.remove} />
      <textarea
        ref={area}
        id="prompt"
        rows={1}
        aria-label={placeholder}
        placeholder={placeholder}
        value={text}
        onChange={(event) => setText(event.target.value)}
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
        <VoiceButton onRecorded={(file) => attachments.add([file])} />
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
