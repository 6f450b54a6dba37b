// Drive the real AI SDK client (v6 or v7) through a server that is killed in the middle of an answer, and print what
// two clients hold in the end, beside what is stored. Says "kill" when the server should die, and reads "up".
//
//   node restart.mjs <6|7> <address> <token> <words>
import assert from "node:assert/strict";
import { createInterface } from "node:readline";

const [version, address, token, words] = process.argv.slice(2);
const { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } = await import(`ai${version}`);
const headers = { authorization: `Bearer ${token}` };
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

class State {
  status = "ready";
  error = undefined;
  constructor(messages) { this.messages = messages; }
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => { this.messages = this.messages.with(index, structuredClone(message)); };
  snapshot = (value) => structuredClone(value);
}
class Chat extends AbstractChat {
  constructor({ messages = [], ...options }) { super({ ...options, state: new State(messages) }); }
}
const openChat = (messages = []) =>
  new Chat({
    id: "restart",
    messages,
    transport: new DefaultChatTransport({ api: `${address}/api/chat`, headers }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
const read = async () => (await fetch(`${address}/api/threads/restart/messages?limit=500`, { headers })).json();
async function until(check) {
  while (!check()) await new Promise((resolve) => setTimeout(resolve, 5));
}
const says = (chat, some) => chat.messages.at(-1)?.role === "assistant" && JSON.stringify(chat.messages.at(-1)).includes(some);

const chat = openChat();
const turn = chat.sendMessage({ text: words });
await until(() => says(chat, "7 ") || (chat.status === "ready" && says(chat, "approval-requested")));
for (const part of chat.messages.at(-1).parts.filter((part) => part.state === "approval-requested")) {
  await chat.addToolApprovalResponse({ id: part.approval.id, approved: true });
}
await until(() => says(chat, "7 "));
console.log("kill");
await turn;
await until(() => chat.status === "error");
assert.equal((await lines.next()).value, "up");
const page = await read();
assert.ok(page.running, "what was left undone goes on");
const other = openChat(page.messages);
await Promise.all([chat.resumeStream(), other.resumeStream()]);
await until(() => chat.status !== "streaming" && other.status !== "streaming");
const kept = (await read()).messages;
console.log(JSON.stringify({ first: chat.messages, other: other.messages, kept, errors: [String(chat.error), String(other.error)] }));
process.exit(0);
