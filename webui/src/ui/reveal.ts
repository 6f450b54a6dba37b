// Characters that hide or reorder what a person reads; the server writes them out the same way (values/reveal.py).
const HIDDEN = /(?![\n\t ])[\p{C}\p{Z}\p{DI}\p{Me}\u2800\ufffc\u0334-\u0338]/gu;

/** Writes hidden characters by their numbers, for calls that a person reads before or after they act. */
export function reveal(text: string): string {
  return text.replace(HIDDEN, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);
}
