import { useEffect, useRef, useState } from "react";
import { useT } from "../i18n";
import { IconButton } from "../ui/IconButton";
import { say } from "../ui/toast";

const isSupported = typeof MediaRecorder !== "undefined" && navigator.mediaDevices !== undefined;

/** Records speech where the browser allows it; the recording becomes an attachment. */
export function VoiceButton({ onRecorded }: { onRecorded: (file: File) => void }) {
  const t = useT();
  const recorder = useRef<MediaRecorder | undefined>(undefined);
  const [seconds, setSeconds] = useState<number>();

  useEffect(() => {
    if (seconds === undefined) return;
    const timer = window.setTimeout(() => setSeconds(seconds + 1), 1000);
    return () => window.clearTimeout(timer);
  }, [seconds]);
  useEffect(() => () => recorder.current?.stream.getTracks().forEach((track) => track.stop()), []);

  if (!isSupported) return null;

  const start = async () => {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const pieces: Blob[] = [];
      const made = new MediaRecorder(stream);
      made.ondataavailable = (event) => pieces.push(event.data);
      made.onstop = () => {
        stream.getTracks().forEach((track) => track.stop());
        setSeconds(undefined);
        const type = made.mimeType.split(";")[0] || "audio/webm";
        onRecorded(new File(pieces, `voice.${type.split("/")[1] ?? "webm"}`, { type }));
      };
      recorder.current = made;
      made.start();
      setSeconds(0);
    } catch {
      say(t("voice.refused"), true);
    }
  };

  if (seconds === undefined) return <IconButton icon="mic" label={t("voice.start")} onClick={() => void start()} />;
  return (
    <button type="button" className="button small danger" onClick={() => recorder.current?.stop()}>
      <span className="dot running" />
      <span className="numeric">
        {Math.floor(seconds / 60)}:{String(seconds % 60).padStart(2, "0")}
      </span>
      {t("voice.stop")}
    </button>
  );
}
