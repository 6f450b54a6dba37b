import { useEffect, useMemo, useRef, useState } from "react";
import { asWritten, isHeavy, lex, type LexedBlock } from "./lex";

const PATIENCE_MS = 4000;
const KEPT = 300;
const STEP = 1500;

let worker: Worker | undefined;
let count = 0;
const waiting = new Map<number, (blocks: LexedBlock[] | undefined) => void>();
// A message that is scrolled back into view is not read again.
const known = new Map<string, LexedBlock[]>();

function remember(text: string, blocks: LexedBlock[]): LexedBlock[] {
  known.set(text, blocks);
  if (known.size > KEPT) known.delete(known.keys().next().value ?? "");
  return blocks;
}

function lexHere(text: string): LexedBlock[] {
  try {
    return known.get(text) ?? remember(text, lex(text));
  } catch {
    return asWritten(text);
  }
}

/** Reads a text in the worker; one that takes too long is given up with it, and shown as it was written. */
function lexAside(text: string): Promise<LexedBlock[]> {
  worker ??= new Worker(new URL("./lex.worker.ts", import.meta.url), { type: "module" });
  const mine = worker;
  const id = ++count;
  return new Promise((resolve) => {
    const timer = window.setTimeout(() => answer(undefined), PATIENCE_MS);
    const answer = (blocks: LexedBlock[] | undefined) => {
      window.clearTimeout(timer);
      waiting.delete(id);
      if (!blocks && worker === mine) {
        mine.terminate();
        worker = undefined;
        for (const other of [...waiting.values()]) other(undefined);
      }
      resolve(remember(text, blocks ?? asWritten(text)));
    };
    waiting.set(id, answer);
    mine.onmessage = (event: MessageEvent<{ id: number; blocks?: LexedBlock[] }>) => waiting.get(event.data.id)?.(event.data.blocks);
    mine.postMessage({ id, text });
  });
}

/** Gives the blocks of a text. */
export function useBlocks(text: string): LexedBlock[] {
  const here = useMemo(() => known.get(text) ?? (isHeavy(text) ? undefined : lexHere(text)), [text]);
  const [aside, setAside] = useState<LexedBlock[]>();
  const isBusy = useRef(false);
  const latest = useRef(text);
  latest.current = text;
  useEffect(() => {
    if (here) return;
    const read = async () => {
      if (isBusy.current) return;
      isBusy.current = true;
      // While a text grows only its latest state is read.
      for (let done = ""; done !== latest.current; ) {
        done = latest.current;
        setAside(await lexAside(done));
      }
      isBusy.current = false;
    };
    void read();
  }, [here, text]);
  return useShown(here ?? aside ?? asWritten(text.slice(0, 20_000)));
}

/** Shows as many blocks at a time as can be drawn without holding the page up. */
export function useShown(blocks: LexedBlock[]): LexedBlock[] {
  const [budget, setBudget] = useState(STEP);
  let size = 0;
  const shown = blocks.filter((block) => {
    size += block.size;
    return size - block.size < budget;
  });
  const isPartial = shown.length < blocks.length;
  useEffect(() => {
    if (!isPartial) return;
    const timer = window.setTimeout(() => setBudget((now) => now + STEP), 30);
    return () => window.clearTimeout(timer);
  }, [budget, isPartial]);
  return shown;
}
