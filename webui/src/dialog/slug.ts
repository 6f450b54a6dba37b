const SLUG = /^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/;

export function isSlug(slug: string): boolean {
  return SLUG.test(slug) && !slug.includes("..") && slug.split("/").every((piece) => piece !== ".");
}

/** Takes one `.md` off what a person wrote. */
export function cleanSlug(text: string): string {
  return text.trim().replace(/\.md$/, "");
}
