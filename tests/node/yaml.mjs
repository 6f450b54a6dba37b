// Read YAML texts from stdin, each as JSON on a line, and print what they say by YAML 1.2's core schema: {value} or {refused}.
import { createInterface } from "node:readline";
import { parseAllDocuments } from "yaml";

function read(text) {
  // The library takes a carriage return alone for text; the standard takes it for a line end.
  const documents = parseAllDocuments(text.replace(/\r\n?/g, "\n"), { version: "1.2", schema: "core", logLevel: "silent" });
  if (documents.length > 1) return { refused: "several documents" };
  const [document] = documents;
  if (!document) return { value: null };
  if (document.errors.length) return { refused: document.errors[0].message };
  try {
    return { value: document.toJS() ?? null };
  } catch (error) {
    return { refused: String(error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(read(JSON.parse(line))));
