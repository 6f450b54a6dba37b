/** Draws diagrams for the page in a frame of its own (diagram.html), and gives each back as the text of a picture. */
import address from "@mermaid-js/tiny/dist/mermaid.tiny.js?url";

interface Mermaid {
  initialize: (config: object) => void;
  render: (id: string, text: string) => Promise<{ svg: string }>;
}

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', sans-serif";
// The page's colours (style/tokens.css), with lines that can be seen on its background.
const COLOURS = {
  light: { background: "#fbfaf8", primaryColor: "#e0eeee", primaryTextColor: "#1d1c1a", primaryBorderColor: "#0b6b74", lineColor: "#5b574f", secondaryColor: "#f4f2ee", tertiaryColor: "#fdf3e0", textColor: "#1d1c1a", noteBkgColor: "#fdf3e0", noteTextColor: "#1d1c1a", noteBorderColor: "#7d4a00" },
  dark: { background: "#131517", primaryColor: "#17343a", primaryTextColor: "#e9e7e3", primaryBorderColor: "#70c7cb", lineColor: "#b0aca4", secondaryColor: "#1d2124", tertiaryColor: "#2c2412", textColor: "#e9e7e3", noteBkgColor: "#2c2412", noteTextColor: "#e9e7e3", noteBorderColor: "#ecb966" },
};

// Measuring a label would make elements of these; the frame's policy stops what they do, and then complains.
const TAG = /<[a-z!/][^<>]*=[^<>]*>/gi;

let turn: Promise<unknown> = Promise.resolve();

async function draw(mermaid: Mermaid, { id, text, isDark }: { id: number; text: string; isDark: boolean }): Promise<void> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    look: "classic",
    theme: "base",
    themeVariables: { darkMode: isDark, fontFamily: FONT, fontSize: "15px", ...COLOURS[isDark ? "dark" : "light"] },
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    maxTextSize: 20_000,
    maxEdges: 200,
  });
  try {
    const { svg } = await mermaid.render(`diagram-${id}`, text.replace(TAG, ""));
    parent.postMessage({ id, svg: sized(svg) }, location.origin);
  } catch {
    parent.postMessage({ id }, location.origin);
  }
}

/** Gives a drawing the size it was drawn for: a picture has no page to take it from. */
function sized(svg: string): string {
  const drawing = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  const [, , width, height] = (drawing.getAttribute("viewBox") ?? "").split(/\s+/);
  if (!width || !height) return svg;
  drawing.setAttribute("width", width);
  drawing.setAttribute("height", height);
  return new XMLSerializer().serializeToString(drawing);
}

const script = document.createElement("script");
script.src = address;
script.onload = () => {
  const { mermaid } = globalThis as unknown as { mermaid: Mermaid };
  window.addEventListener("message", (event: MessageEvent<{ id: number; text: string; isDark: boolean }>) => {
    if (event.source !== parent || event.origin !== location.origin) return;
    // One after the other: settings are those of all drawings.
    turn = turn.then(() => draw(mermaid, event.data));
  });
  parent.postMessage("ready", location.origin);
};
// Opened by itself, it would hear and answer nobody but itself.
if (parent !== window) document.head.append(script);
