const KINDS: Record<string, string> = { "+": "added", "-": "removed", "@": "place" };

export function looksLikeDiff(text: string): boolean {
  return /^(--- |\+\+\+ |@@ )/m.test(text);
}

/** Shows a unified diff, line by line; signs stay, so colour is never the only mark. */
export function Diff({ text }: { text: string }) {
  return (
    <pre className="diff" tabIndex={0}>
      {text.replace(/\n$/, "").split("\n").map((line, index) => (
        <span key={index} className={/^(\+\+\+|---)/.test(line) ? "place" : (KINDS[line[0] ?? ""] ?? "same")}>
          {line || " "}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
