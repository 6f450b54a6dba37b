import { CopyButton } from "../ui/CopyButton";
import { Diff, looksLikeDiff } from "../ui/Diff";
import { reveal } from "../ui/reveal";

/** Shows a value; `revealed` writes hidden characters out, as in the input of a call. */
export function Data({ label, value, revealed = false }: { label: string; value: unknown; revealed?: boolean }) {
  const text = revealed ? reveal(show(value)) : show(value);
  return (
    <div className="data">
      <div className="data-head">
        <span>{label}</span>
        <CopyButton text={text} />
      </div>
      {looksLikeDiff(text) ? <Diff text={text} /> : <pre tabIndex={0}>{text}</pre>}
    </div>
  );
}

/** Writes a value for reading: text as it stands, a lone text field without its braces, the rest as JSON. */
function show(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  if (typeof value === "object" && !Array.isArray(value)) {
    const entries = Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined);
    const isFlat = entries.every(([, inner]) => typeof inner !== "object");
    if (isFlat && entries.length > 0) return entries.map(([key, inner]) => line(key, String(inner))).join("\n");
  }
  return JSON.stringify(value, null, 2);
}

function line(key: string, text: string): string {
  return text.includes("\n") ? `${key}:\n${text.replace(/\n$/, "")}` : `${key}: ${text}`;
}
