import { useCell } from "../api/use";
import { language, translate, type Language } from "./index";

const locale = (chosen: Language) => (chosen === "zh" ? "zh-CN" : "en-GB");

function startOfDay(moment: Date): number {
  return new Date(moment.getFullYear(), moment.getMonth(), moment.getDate()).getTime();
}

export type DayGroup = "today" | "yesterday" | "week" | "earlier";

export function dayGroup(iso: string): DayGroup {
  const days = Math.round((startOfDay(new Date()) - startOfDay(new Date(iso))) / 86_400_000);
  if (days <= 0) return "today";
  if (days === 1) return "yesterday";
  return days < 7 ? "week" : "earlier";
}

export interface Format {
  time: (iso: string) => string;
  short: (iso: string) => string;
  full: (iso: string | null | undefined) => string;
  number: (value: number) => string;
  compact: (value: number) => string;
  bytes: (value: number) => string;
  money: (value: number | null | undefined) => string;
  duration: (ms: number) => string;
}

function make(chosen: Language): Format {
  const name = locale(chosen);
  const time = new Intl.DateTimeFormat(name, { hour: "2-digit", minute: "2-digit" });
  const day = new Intl.DateTimeFormat(name, { day: "numeric", month: "short" });
  const full = new Intl.DateTimeFormat(name, { dateStyle: "medium", timeStyle: "short" });
  const number = new Intl.NumberFormat(name);
  const compact = new Intl.NumberFormat(name, { notation: "compact", maximumFractionDigits: 1 });
  const valid = (iso: string) => !Number.isNaN(Date.parse(iso));
  return {
    time: (iso) => (valid(iso) ? time.format(new Date(iso)) : ""),
    short: (iso) => {
      if (!valid(iso)) return "";
      return dayGroup(iso) === "today" ? time.format(new Date(iso)) : day.format(new Date(iso));
    },
    full: (iso) => (iso && valid(iso) ? full.format(new Date(iso)) : "–"),
    number: (value) => number.format(value),
    compact: (value) => compact.format(value),
    bytes: (value) => {
      const [size, unit] = value < 1000 ? [value, "B"] : value < 1_000_000 ? [value / 1000, "KB"] : [value / 1_000_000, "MB"];
      return `${number.format(Math.round(size * 10) / 10)} ${unit}`;
    },
    money: (value) => (value === null || value === undefined ? "–" : `$${value.toFixed(value !== 0 && value < 0.1 ? 4 : 2)}`),
    duration: (ms) => {
      if (ms < 1) return translate(chosen, "unit.ms", { n: "<1" });
      if (ms < 1000) return translate(chosen, "unit.ms", { n: Math.round(ms) });
      return translate(chosen, "unit.s", { n: number.format(Math.round(ms / 100) / 10) });
    },
  };
}

// What the browser needs to write times and numbers costs half a millisecond: one for each language, not for each message.
const made = new Map<Language, Format>();

export function useFormat(): Format {
  const chosen = useCell(language);
  const format = made.get(chosen) ?? make(chosen);
  made.set(chosen, format);
  return format;
}
