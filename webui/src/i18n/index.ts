import { useCallback } from "react";
import { Cell } from "../api/client";
import { useCell } from "../api/use";
import { preference } from "../app/preference";
import { en } from "./en";
import { zh } from "./zh";

export type Word = keyof typeof en;
export type Language = "en" | "zh";
export type Translate = (word: Word, values?: Record<string, string | number>) => string;

const dictionaries: Record<Language, Record<Word, string>> = { en, zh };

function initial(): Language {
  const stored = preference.get("language");
  return stored === "zh" || stored === "en" ? stored : "en";
}

export const language = new Cell<Language>(initial());

export function chooseLanguage(value: Language): void {
  preference.set("language", value);
  showLanguage(value);
}

/** Follows the workspace's language until the person has chosen one on this page. */
export function followLanguage(value: Language): void {
  if (preference.get("language") === null) showLanguage(value);
}

function showLanguage(value: Language): void {
  language.set(value);
  document.documentElement.lang = value === "zh" ? "zh-CN" : "en";
}

/** Fills in the values; `{n:line|lines}` stands for the first word when there is one of it, else for the second. */
export function translate(chosen: Language, word: Word, values: Record<string, string | number> = {}): string {
  // A newer server may name what this page has no word for.
  const text: string = dictionaries[chosen][word] ?? word.slice(word.indexOf(".") + 1);
  return text.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (whole, name: string, one?: string, many?: string) => {
    if (one !== undefined && many !== undefined) return Number(values[name]) === 1 ? one : many;
    return String(values[name] ?? whole);
  });
}

export function useT(): Translate {
  const chosen = useCell(language);
  return useCallback((word, values) => translate(chosen, word, values), [chosen]);
}
