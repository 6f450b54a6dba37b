import { lex } from "./lex";

/** Takes texts apart beside the page, which stays free meanwhile. */
self.addEventListener("message", (event: MessageEvent<{ id: number; text: string }>) => {
  const { id, text } = event.data;
  try {
    self.postMessage({ id, blocks: lex(text) });
  } catch {
    self.postMessage({ id, blocks: undefined });
  }
});
