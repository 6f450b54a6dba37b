// Read chunk streams from stdin, one JSON object a line, and print what the AI SDK client makes of each.
import { createInterface } from "node:readline";

const { readUIMessageStream, safeValidateUIMessages } = await import(process.argv[2]);

for await (const line of createInterface({ input: process.stdin })) {
  const { message, chunks } = JSON.parse(line);
  const stream = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let last = message;
  const errors = [];
  for await (const state of readUIMessageStream({ message, stream, onError: (error) => errors.push(String(error)) })) {
    last = state;
  }
  const checked = await safeValidateUIMessages({ messages: [JSON.parse(JSON.stringify(last))] });
  console.log(JSON.stringify({ message: last, valid: checked.success, error: String(checked.error ?? errors.join()) }));
}
