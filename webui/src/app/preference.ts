/** Remembers small choices in this browser; a browser that refuses storage just forgets them. */
export const preference = {
  get(name: string): string | null {
    try {
      return localStorage.getItem(`shipmate.${name}`);
    } catch {
      return null;
    }
  },
  set(name: string, value: string): void {
    try {
      localStorage.setItem(`shipmate.${name}`, value);
    } catch {
      // Private windows may refuse; the choice then holds until the page is closed.
    }
  },
};
