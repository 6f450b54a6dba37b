import { useEffect, useRef, useState } from "react";
import { useT } from "../i18n";
import { IconButton } from "../ui/IconButton";
import { say } from "../ui/toast";
import { LONGEST_SECONDS, record, type Recording } from "./voice";

const isSupported = typeof MediaRecorder !== "undefined" && navigator.mediaDevices !== undefined;
const TICK_MS = 100;

/** Records speech where the browser allows it: shows that it does and how loud, and sends or forgets it. */
export function VoiceButton({ onRecorded }: { onRecorded: (file: File) => void }) {
  const t = useT();
  const recording = useRef<Recording | undefined>(undefined);
  const [begun, setBegun] = useState<number>();
  const [now, setNow] = useState({ level: 0, seconds: 0 });
  const [isMaking, setMaking] = useState(false);

  const end = () => {
    const ended = recording.current;
    recording.current = undefined;
    setBegun(undefined);
    return ended;
  };
  const send = async () => {
    const made = end();
    if (!made) return;
    setMaking(true);
    await made.finish().then(onRecorded, () => say(t("voice.empty"), true));
    setMaking(false);
  };
  const start = async () => {
    try {
      recording.current = await record();
      setNow({ level: 0, seconds: 0 });
      setBegun(performance.now());
    } catch {
      say(t("voice.refused"), true);
    }
  };

  useEffect(() => {
    if (begun === undefined) return;
    const timer = window.setInterval(() => {
      const seconds = Math.floor((performance.now() - begun) / 1000);
      setNow({ level: recording.current?.level() ?? 0, seconds });
      if (seconds >= LONGEST_SECONDS) void send();
    }, TICK_MS);
    return () => window.clearInterval(timer);
  }, [begun]);
  useEffect(() => () => end()?.cancel(), []);

  if (!isSupported) return null;
  if (begun === undefined) {
    return <IconButton icon="mic" label={t("voice.start")} disabled={isMaking} onClick={() => void start()} />;
  }
  return (
    <div
      className="recording"
      role="group"
      aria-label={t("voice.recording")}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        end()?.cancel();
      }}
    >
      <IconButton icon="cross" label={t("voice.cancel")} onClick={() => end()?.cancel()} />
      <span className="dot running" />
      <span className="numeric" role="timer">
        {Math.floor(now.seconds / 60)}:{String(now.seconds % 60).padStart(2, "0")}
      </span>
      <meter max={1} value={now.level} aria-label={t("voice.level")} />
      <button type="button" className="button small primary" autoFocus onClick={() => void send()}>
        {t("voice.send")}
      </button>
    </div>
  );
}
