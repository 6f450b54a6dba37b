import { useCallback } from "react";
import { Cell } from "../api/client";
import { useCell } from "../api/use";
import { preference } from "../app/preference";
import { en } from "./en";

export type Word = keyof typeof en;
export type Language = "en" | "zh";
export type Translate = (word: Word, values?: Record<string, string | number>) => string;

const dictionaries: Record<Language, Partial<Record<Word, string>>> = { en, zh: {} };

function initial(): Language {
  const stored = preference.get("language");
  return stored === "zh" || stored === "en" ? stored : "en";
}

export const language = new Cell<Language>(initial());

/** Reads the words of a language; whoever does not speak it need not load them. */
export async function loadLanguage(value: Language): Promise<void> {
  if (value === "zh") dictionaries.zh = (await import("./zh")).zh;
}

export function chooseLanguage(value: Language): void {
  preference.set("language", value);
  void showLanguage(value);
}

/** Follows the workspace's language until the person has chosen one on this page. */
export async function followLanguage(value: Language): Promise<void> {
  if (preference.get("language") === null) await showLanguage(value);
}

async function showLanguage(value: Language): Promise<void> {
  await loadLanguage(value);
  language.set(value);
  document.documentElement.lang = value === "zh" ? "zh-CN" : "en";
}

/** Fills in the values; `{n:line|lines}` stands for the first word when there is one of it, else for the second. */
export function translate(chosen: Language, word: Word, values: Record<string, string | number> = {}): string {
  // A newer server may name what this page has no word for.
  const text: string = dictionaries[chosen][word] ?? en[word] ?? word.slice(word.indexOf(".") + 1);
  return text.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (whole, name: string, one?: string, many?: string) => {
    if (one !== undefined && many !== undefined) return Number(values[name]) === 1 ? one : many;
    return String(values[name] ?? whole);
  });
}

/** Tells whether a name that the server gave is one that this page has words for. */
export function isWord(name: string): name is Word {
  return name in en;
}

export function useT(): Translate {
  const chosen = useCell(language);
  return useCallback((word, values) => translate(chosen, word, values), [chosen]);
}
