import { useCallback, useEffect } from "react";
import { Cell } from "../api/client";
import { useCell } from "../api/use";
import { language } from "./index";

/** A sentence of the server: the words between its values, and what to say instead. */
interface Sentence {
  words: string[];
  instead: string;
}

/** Where a sentence ends, and where a name ends and what is said of it begins. */
const PARTINGS = [
  [". ", "。"],
  [": ", "："],
] as const;
/** Longer texts, and what is told deeper inside of others, are somebody's own. */
const LONG = 4000;
const DEEP = 6;

const sentences = new Cell<Sentence[]>([]);

/** The server tells its reasons in English; the table, which the terminal reads too, has each sentence of them. */
async function loadSentences(): Promise<void> {
  if (sentences.get().length > 0) return;
  const { default: table } = await import("../../../src/shipmate/values/words/reason.zh.json");
  const read = Object.entries(table).map(([told, instead]) => ({ words: told.split("{}"), instead }));
  // The more words a sentence has, the less it can be mistaken for another.
  const size = (one: Sentence) => one.words.join("").length;
  sentences.set(read.sort((left, right) => size(right) - size(left)));
}

/** Returns where the values between the words of a sentence stand, nothing when the text is another one. */
function findValues(text: string, words: string[]): [number, number][] | undefined {
  const [head = "", ...rest] = words;
  if (rest.length === 0) return text === head ? [] : undefined;
  if (!text.startsWith(head)) return undefined;
  const values: [number, number][] = [];
  let at = head.length;
  for (const [index, word] of rest.entries()) {
    const isLast = index === rest.length - 1;
    const found = isLast ? (text.endsWith(word) ? text.length - word.length : -1) : text.indexOf(word, at);
    if (found < at) return undefined;
    values.push([at, found]);
    at = found + word.length;
  }
  return values;
}

/** Hides what is quoted: signs in it part no sentences. */
const hideQuoted = (text: string) => text.replace(/`[^`]*`|'[^']*'|"[^"]*"/g, (quoted) => "\0".repeat(quoted.length));

/** Says a text that is one sentence; unless it is `loose`, no value may look like a sentence of its own. */
function saySentence(text: string, known: Sentence[], depth: number, isLoose: boolean): string | undefined {
  const bare = hideQuoted(text);
  for (const { words, instead } of known) {
    const values = findValues(text, words);
    if (!values) continue;
    if (!isLoose && values.some(([start, end]) => PARTINGS.some(([mark]) => bare.slice(start, end).includes(mark)))) continue;
    return instead.replace(/\{(\d)\}/g, (_, number: string) => {
      const [start, end] = values[Number(number) - 1] ?? [0, 0];
      return translateReason(text.slice(start, end), known, depth + 1);
    });
  }
  return undefined;
}

/** Says what stands before the first mark and after it; of which a name may stay as it is. */
function sayParted(text: string, known: Sentence[], depth: number): { said: string; isWhole: boolean } | undefined {
  const bare = hideQuoted(text);
  for (const [mark, instead] of PARTINGS) {
    const at = bare.indexOf(mark);
    if (at < 0) continue;
    const parts = [text.slice(0, at), text.slice(at + mark.length)];
    const said = parts.map((part) => translateReason(part, known, depth + 1));
    const isSaid = parts.map((part, index) => said[index] !== part);
    if (!isSaid.some(Boolean)) return undefined;
    return { said: said.join(instead), isWhole: parts.every((part, index) => isSaid[index] || !part.includes(" ")) };
  }
  return undefined;
}

/** Says a reason in Chinese, sentence by sentence; what nobody translated stays as it was told. */
function translateReason(text: string, known: Sentence[], depth = 0): string {
  // A word alone is somebody's name for something.
  if (text.length > LONG || depth > DEEP || (depth > 0 && !text.includes(" "))) return text;
  if (text.endsWith(".") && !text.endsWith("..")) {
    const inner = text.slice(0, -1);
    const said = translateReason(inner, known, depth);
    return said === inner ? text : `${said}。`;
  }
  const strict = saySentence(text, known, depth, false);
  if (strict !== undefined) return strict;
  const parted = sayParted(text, known, depth);
  if (parted?.isWhole) return parted.said;
  return saySentence(text, known, depth, true) ?? parted?.said ?? text;
}

/** Says the reasons of the server in the language of the page. */
export function useReason(): (text: string) => string {
  const chosen = useCell(language);
  const known = useCell(sentences);
  useEffect(() => {
    if (chosen === "zh") void loadSentences();
  }, [chosen]);
  return useCallback((text) => (chosen === "zh" ? translateReason(text, known) : text), [chosen, known]);
}
