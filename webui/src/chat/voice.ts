// What engines for speech are made for; ten minutes of it are just under what an upload may have.
const RATE = 16_000;
const HEADER = 44;
export const LONGEST_SECONDS = 600;

export interface Recording {
  /** How loud it is now, from 0 to 1. */
  level: () => number;
  /** Ends it and gives what was said. */
  finish: () => Promise<File>;
  cancel: () => void;
}

/** Begins to record; the browser asks the person first, and fails when they say no. */
export async function record(): Promise<Recording> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  context.createMediaStreamSource(stream).connect(analyser);
  const wave = new Uint8Array(analyser.fftSize);
  const pieces: Blob[] = [];
  const recorder = new MediaRecorder(stream);
  const ended = new Promise<void>((resolve) => {
    recorder.onstop = () => resolve();
  });
  recorder.ondataavailable = (event) => pieces.push(event.data);
  recorder.start();
  const end = async () => {
    if (recorder.state !== "inactive") recorder.stop();
    stream.getTracks().forEach((track) => track.stop());
    if (context.state !== "closed") await context.close();
  };
  return {
    level: () => {
      analyser.getByteTimeDomainData(wave);
      return Math.min(1, Math.max(...wave.map((sample) => Math.abs(sample - 128))) / 100);
    },
    finish: async () => {
      await end();
      await ended;
      return makeWave(new Blob(pieces, { type: recorder.mimeType }));
    },
    cancel: () => void end(),
  };
}

/** Browsers record in containers of their own; WAV with one channel is read by every engine and player. */
async function makeWave(recorded: Blob): Promise<File> {
  const sound = await new OfflineAudioContext(1, 1, RATE).decodeAudioData(await recorded.arrayBuffer());
  const channels = Array.from({ length: sound.numberOfChannels }, (_, number) => sound.getChannelData(number));
  const view = new DataView(new ArrayBuffer(HEADER + 2 * sound.length));
  const write = (at: number, text: string) => [...text].forEach((char, index) => view.setUint8(at + index, char.charCodeAt(0)));
  write(0, "RIFF");
  view.setUint32(4, view.byteLength - 8, true);
  write(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, RATE, true);
  view.setUint32(28, 2 * RATE, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  write(36, "data");
  view.setUint32(40, 2 * sound.length, true);
  for (let index = 0; index < sound.length; index += 1) {
    const sample = channels.reduce((sum, channel) => sum + (channel[index] ?? 0), 0) / channels.length;
    view.setInt16(HEADER + 2 * index, Math.max(-1, Math.min(1, sample)) * 0x7fff, true);
  }
  return new File([view], "voice.wav", { type: "audio/wav" });
}
