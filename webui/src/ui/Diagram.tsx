import { useEffect, useState } from "react";
import { useT } from "../i18n";
import { CodeBlock } from "./CodeBlock";

const PATIENCE_MS = 15_000;
/** How much smaller than drawn a diagram may be shown. */
const READABLE = 0.75;

let frame: Promise<Window> | undefined;
let count = 0;

/** Opens the frame in which diagrams are drawn: the styles they need inline are allowed there, and nothing else is. */
function open(): Promise<Window> {
  frame ??= new Promise((resolve) => {
    const element = document.createElement("iframe");
    element.className = "diagram-frame";
    element.title = "";
    element.tabIndex = -1;
    element.setAttribute("aria-hidden", "true");
    const ready = (event: MessageEvent) => {
      if (event.source !== element.contentWindow || event.data !== "ready" || !element.contentWindow) return;
      window.removeEventListener("message", ready);
      resolve(element.contentWindow);
    };
    window.addEventListener("message", ready);
    element.src = "/diagram.html";
    document.body.append(element);
  });
  return frame;
}

async function draw(text: string, isDark: boolean): Promise<string> {
  const drawer = await open();
  const id = ++count;
  return new Promise((resolve, reject) => {
    const hear = (event: MessageEvent<{ id: number; svg?: string }>) => {
      if (event.source !== drawer || event.data.id !== id) return;
      end();
      if (event.data.svg) resolve(event.data.svg);
      else reject(new Error("not a diagram"));
    };
    const timer = window.setTimeout(() => {
      end();
      reject(new Error("too slow"));
    }, PATIENCE_MS);
    const end = () => {
      window.clearTimeout(timer);
      window.removeEventListener("message", hear);
    };
    window.addEventListener("message", hear);
    drawer.postMessage({ id, text, isDark }, window.location.origin);
  });
}

const isDarkNow = () => getComputedStyle(document.documentElement).colorScheme.includes("dark");

/** Watches whether the page is dark: by the system's choice or the person's own. */
function useDark(): boolean {
  const [isDark, setDark] = useState(isDarkNow);
  useEffect(() => {
    const look = () => setDark(isDarkNow());
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const watch = new MutationObserver(look);
    system.addEventListener("change", look);
    watch.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      system.removeEventListener("change", look);
      watch.disconnect();
    };
  }, []);
  return isDark;
}

/** A diagram as a picture, which can neither run nor load anything; its source stays at hand. */
export default function Diagram({ code }: { code: string }) {
  const t = useT();
  const isDark = useDark();
  const [svg, setSvg] = useState<string>();
  useEffect(() => {
    let isGone = false;
    // An answer that is still being written would be drawn over and over.
    const timer = window.setTimeout(() => {
      draw(code, isDark).then(
        (made) => !isGone && setSvg(made),
        () => !isGone && setSvg(undefined),
      );
    }, 150);
    return () => {
      isGone = true;
      window.clearTimeout(timer);
    };
  }, [code, isDark]);
  if (!svg) return <CodeBlock code={code} language="mermaid" />;
  const width = Number(/^<svg[^>]*? width="([\d.]+)"/.exec(svg)?.[1] ?? 0);
  return (
    <figure className="diagram">
      {/* On a narrow screen it is scrolled: made to fit, its words could not be read. */}
      <div className="diagram-view" tabIndex={0}>
        <img
          src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`}
          alt={t("diagram", { text: code.slice(0, 200) })}
          style={{ minWidth: Math.round(width * READABLE) }}
        />
      </div>
      <details className="fold">
        <summary>{t("diagram.source")}</summary>
        <CodeBlock code={code} language="mermaid" />
      </details>
    </figure>
  );
}
