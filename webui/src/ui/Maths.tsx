import { useEffect, useRef } from "react";

const LIMIT = 4000;
const SLICE_MS = 12;

type Katex = typeof import("katex").default;

let loading: Promise<Katex> | undefined;
const tasks: (() => void)[] = [];
let isPlanned = false;

/** Draws formulas a few at a time: a page full of them must stay usable. */
function plan(task: () => void): void {
  tasks.push(task);
  if (isPlanned) return;
  isPlanned = true;
  const run = () => {
    const end = performance.now() + SLICE_MS;
    while (tasks.length > 0 && performance.now() < end) tasks.shift()?.();
    isPlanned = tasks.length > 0;
    if (isPlanned) window.setTimeout(run);
  };
  window.setTimeout(run);
}

async function load(): Promise<Katex> {
  const [made] = await Promise.all([import("katex"), import("katex/dist/katex.min.css")]);
  return made.default;
}

/** A formula. Until it can be drawn, and when it cannot be read, its source is shown. */
export function Maths({ tex, isBlock }: { tex: string; isBlock: boolean }) {
  const node = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (tex.length > LIMIT) return;
    let isGone = false;
    loading ??= load();
    void loading.then(
      (katex) =>
        plan(() => {
          // What it draws is made of elements, never of text read as HTML, so that the page's policy on styles holds.
          if (!isGone && node.current) {
            katex.render(tex, node.current, { displayMode: isBlock, throwOnError: false, strict: "ignore", trust: false, maxSize: 30, maxExpand: 300 });
          }
        }),
      () => undefined,
    );
    return () => {
      isGone = true;
    };
  }, [tex, isBlock]);
  return (
    <span className={isBlock ? "maths maths-block" : "maths"} key={tex} ref={node}>
      {tex}
    </span>
  );
}
