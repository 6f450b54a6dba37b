// Read messages from stdin, one JSON object a line, and print those the AI SDK refuses, each on its own.
import { createInterface } from "node:readline";

const { safeValidateUIMessages } = await import(process.argv[2]);

for await (const line of createInterface({ input: process.stdin })) {
  const result = await safeValidateUIMessages({ messages: [JSON.parse(line)] });
  if (!result.success) console.log(JSON.stringify({ line, error: String(result.error) }));
}
