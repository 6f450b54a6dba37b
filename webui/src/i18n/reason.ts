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
/** Longer texts are somebody's own. */
const LONG = 4000;

const sentences = new Cell<Sentence[]>([]);

/** The server tells its reasons about scripts in English; here stands each sentence that it has. */
async function loadSentences(): Promise<void> {
  if (sentences.get().length > 0) return;
  const { default: table } = await import("./reason.zh.json");
  const read = Object.entries(table).map(([told, instead]) => ({ words: told.split("{}"), instead }));
  // The more words a sentence has, the less it can be mistaken for another.
  const size = (one: Sentence) => one.words.join("").length;
  sentences.set(read.sort((left, right) => size(right) - size(left)));
}

/** Returns the values between the words of a sentence, nothing when the text is another one. */
function valuesIn(text: string, words: string[]): string[] | undefined {
  const [head = "", ...rest] = words;
  if (rest.length === 0) return text === head ? [] : undefined;
  if (!text.startsWith(head)) return undefined;
  const values: string[] = [];
  let at = head.length;
  for (const [index, word] of rest.entries()) {
    const isLast = index === rest.length - 1;
    const found = isLast ? (text.endsWith(word) ? text.length - word.length : -1) : text.indexOf(word, at);
    if (found < at) return undefined;
    values.push(text.slice(at, found));
    at = found + word.length;
  }
  return values;
}

function sayInstead(text: string, known: Sentence[]): string | undefined {
  for (const { words, instead } of known) {
    const values = valuesIn(text, words);
    if (values) return instead.replace(/\{(\d)\}/g, (_, at: string) => sayInstead(values[Number(at) - 1] ?? "", known) ?? values[Number(at) - 1] ?? "");
  }
  return undefined;
}

/** Says a reason in Chinese, sentence by sentence; what nobody translated stays as it was told. */
function translateReason(text: string, known: Sentence[]): string {
  if (text.length > LONG) return text;
  const whole = sayInstead(text.replace(/\.$/, ""), known);
  if (whole !== undefined) return text.endsWith(".") ? `${whole}。` : whole;
  for (const [mark, instead] of PARTINGS) {
    const at = text.indexOf(mark);
    if (at < 0) continue;
    const [left, right] = [text.slice(0, at), text.slice(at + mark.length)];
    const [first, second] = [translateReason(left, known), translateReason(right, known)];
    return first === left && second === right ? text : `${first}${instead}${second}`;
  }
  return text;
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
