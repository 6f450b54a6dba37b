// Drive the real AI SDK client (v6 or v7) against a running server, one thread for each scenario, and print for each
// what is stored in the end, or why it failed.
//
//   node client.mjs <6|7> <address> <token> <folder of thread files>
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [version, address, token, folder] = process.argv.slice(2);
const { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, safeValidateUIMessages } =
  await import(`ai${version}`);
const headers = { authorization: `Bearer ${token}` };

class State {
  status = "ready";
  error = undefined;
  messages = [];
  constructor(messages) { this.messages = messages; }
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => { this.messages = this.messages.with(index, structuredClone(message)); };
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor({ messages = [], ...options }) { super({ ...options, state: new State(messages) }); }
}

let threadId;
let seen = [];
function openChat(messages = [], options = {}) {
  return new Chat({
    id: threadId,
    messages,
    transport: new DefaultChatTransport({ api: `${address}/api/chat`, headers, ...options }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onData: (part) => seen.push(part),
  });
}

async function get(path) {
  const response = await fetch(address + path, { headers });
  assert.equal(response.status, 200, `${path} gave ${response.status}`);
  return response.json();
}
const path = () => `/api/threads/${encodeURIComponent(threadId)}`;
const stored = async () => (await get(`${path()}/messages?limit=500`)).messages;
const post = (tail, body = {}) =>
  fetch(`${address}${path()}${tail}`, { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) });
async function until(check) {
  while (!check()) await new Promise((resolve) => setTimeout(resolve, 10));
}
// Ends the body of a response as a lost connection does, as soon as it holds some words; later responses are whole.
function cutAt(words) {
  let isCut = false;
  return async (input, init) => {
    const response = await fetch(input, init);
    if (isCut || !response.ok || !response.body) return response;
    let text = "";
    const cutting = new TransformStream({
      transform(bytes, controller) {
        text += new TextDecoder().decode(bytes);
        controller.enqueue(bytes);
        if (text.includes(words)) {
          isCut = true;
          controller.error(new TypeError("network error"));
        }
      },
    });
    return new Response(response.body.pipeThrough(cutting), { status: response.status, headers: response.headers });
  };
}
// Ask as the documents say: what is stored, then the stream of what runs, until nothing does.
async function settle(chat) {
  for (;;) {
    const page = await get(`${path()}/messages?limit=500`);
    if (!page.running) {
      chat.messages = page.messages;
      return;
    }
    await chat.resumeStream();
    if (chat.status === "ready") return;
  }
}
const says = (chat, words) => last(chat)?.role === "assistant" && JSON.stringify(last(chat)).includes(words);
const decide = (chat, approved) =>
  Promise.all(
    calls(chat)
      .filter((part) => part.state === "approval-requested")
      .map((part) => chat.addToolApprovalResponse({ id: part.approval.id, approved })),
  );
// What a run changes beside the message it streams is told whole; whoever listens takes it over.
function takeOver(chat) {
  for (const { data } of seen.filter((part) => part.type === "data-message")) {
    const isHeld = chat.messages.some((message) => message.id === data.id);
    chat.messages = isHeld ? chat.messages.map((message) => (message.id === data.id ? data : message)) : [...chat.messages, data];
  }
}
const ready = (chat) => until(() => chat.status === "ready" || chat.status === "error");
const last = (chat) => chat.messages.at(-1);
const calls = (chat) => last(chat).parts.filter((part) => part.toolCallId !== undefined);

async function answer(chat, approved, reason) {
  for (const part of calls(chat).filter((part) => part.state === "approval-requested")) {
    await chat.addToolApprovalResponse({ id: part.approval.id, approved, reason });
  }
  // The last answer sends itself; wait until that turn has ended too.
  await until(() => chat.status !== "ready" || calls(chat).every((part) => part.state !== "approval-responded"));
  await until(() => chat.status === "ready" || chat.status === "error");
}

const scenarios = {
  async text(chat) {
    await chat.sendMessage({ text: "hello" });
    await chat.sendMessage({ text: "and again" });
  },
  async thought(chat) { await chat.sendMessage({ text: "think" }); },
  async tool(chat) { await chat.sendMessage({ text: "read two files" }); await chat.sendMessage({ text: "hello" }); },
  async badTool(chat) { await chat.sendMessage({ text: "call badly" }); },
  async approve(chat) { await chat.sendMessage({ text: "write one file" }); await answer(chat, true); await chat.sendMessage({ text: "hello" }); },
  async deny(chat) { await chat.sendMessage({ text: "write one file" }); await answer(chat, false, "not today"); await chat.sendMessage({ text: "hello" }); },
  async approveTwo(chat) {
    await chat.sendMessage({ text: "write both files" });
    const [first, second] = calls(chat);
    await chat.addToolApprovalResponse({ id: first.approval.id, approved: true });
    await chat.addToolApprovalResponse({ id: second.approval.id, approved: false, reason: "one is enough" });
    await until(() => chat.status !== "ready" || calls(chat).every((part) => part.state !== "approval-responded"));
    await until(() => chat.status === "ready" || chat.status === "error");
  },
  async moveOn(chat) { await chat.sendMessage({ text: "write one file" }); await chat.sendMessage({ text: "hello" }); },
  async stop(chat) {
    const turn = chat.sendMessage({ text: "count slowly" });
    await until(() => last(chat)?.role === "assistant" && JSON.stringify(last(chat)).includes("3"));
    assert.equal((await post("/stop")).status, 200);
    await turn;
    await chat.sendMessage({ text: "hello" });
  },
  async leaveAndResume(chat) {
    const turn = chat.sendMessage({ text: "count slowly" });
    await until(() => last(chat)?.role === "assistant" && JSON.stringify(last(chat)).includes("3"));
    await chat.stop();
    await turn;
    const other = openChat(await stored());
    await other.resumeStream();
    await other.sendMessage({ text: "hello" });
    return other;
  },
  async nothingToResume(chat) {
    await chat.sendMessage({ text: "hello" });
    await chat.resumeStream();
  },
  async retry(chat) {
    await chat.sendMessage({ text: "hello" });
    await chat.regenerate();
  },
  async failure(chat) {
    await chat.sendMessage({ text: "fail" });
    assert.equal(chat.status, "error");
    await chat.sendMessage({ text: "hello" });
  },
  async image(chat) {
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    await chat.sendMessage({ text: "hello", files: [{ type: "file", mediaType: "image/png", filename: "dot.png", url: `data:image/png;base64,${png}` }] });
  },
  async resumeAfterApproval(chat) {
    await chat.sendMessage({ text: "write and count" });
    await decide(chat, true);
    await until(() => says(chat, "3 "));
    const other = openChat(await stored());
    await other.resumeStream();
    await ready(chat);
    return [chat, other];
  },
  async resumeInPlaceAfterApproval(chat) {
    await chat.sendMessage({ text: "write and count" });
    await decide(chat, true);
    await until(() => says(chat, "3 "));
    await chat.stop();
    await chat.resumeStream();
  },
  async cutConnection() {
    const chat = openChat([], { fetch: cutAt("7 ") });
    await chat.sendMessage({ text: "count slowly" });
    assert.equal(chat.status, "error");
    assert.ok(says(chat, "7 "), "the client holds a part of the answer");
    await chat.resumeStream();
    return chat;
  },
  async cutAfterApproval() {
    const chat = openChat([], { fetch: cutAt("7 ") });
    await chat.sendMessage({ text: "write and count" });
    await decide(chat, true);
    await until(() => chat.status === "error");
    await chat.resumeStream();
    return chat;
  },
  async repeatWhileRunning(chat) {
    const turn = chat.sendMessage({ text: "count slowly" });
    await until(() => says(chat, "3 "));
    const other = openChat();
    await other.sendMessage(chat.messages[0]);
    await turn;
    return [chat, other];
  },
  async repeatDecision() {
    const chat = openChat([], { fetch: cutAt("7 ") });
    await chat.sendMessage({ text: "write and count" });
    const asked = structuredClone(chat.messages);
    await decide(chat, true);
    await until(() => chat.status === "error");
    // Another tab still shows the question, and answers it while the answer of the first is being worked.
    const other = openChat(asked);
    await decide(other, true);
    await until(() => says(other, "40 "));
    await ready(other);
    return other;
  },
  async twoClients(chat) {
    await chat.sendMessage({ text: "write and count" });
    const other = openChat(await stored());
    await decide(other, true);
    await until(() => says(other, "3 "));
    await chat.resumeStream();
    await ready(other);
    await chat.sendMessage({ text: "hello" });
    await settle(other);
    return [chat, other];
  },
  async retryNamed(chat) {
    await chat.sendMessage({ text: "hello" });
    await chat.regenerate({ messageId: last(chat).id });
    await chat.regenerate({ messageId: last(chat).id });
  },
  async decideAndGoOn(chat) {
    await chat.sendMessage({ text: "write both files" });
    await chat.addToolApprovalResponse({ id: calls(chat)[0].approval.id, approved: false });
    await chat.sendMessage({ text: "hello" });
    takeOver(chat);
  },
  async decideLate(chat) {
    await chat.sendMessage({ text: "write one file" });
    const asked = calls(chat)[0];
    await chat.sendMessage({ text: "hello" });
    await chat.addToolApprovalResponse({ id: asked.approval.id, approved: true });
    await chat.sendMessage();
    takeOver(chat);
  },
  async queue(chat) {
    const turn = chat.sendMessage({ text: "count slowly" });
    await until(() => last(chat)?.role === "assistant");
    const other = openChat(chat.messages.slice(0, 1));
    const second = other.sendMessage({ text: "hello" });
    await Promise.all([turn, second]);
    assert.ok(seen.some((part) => part.type === "data-queue"), "the second tab was told that it waits");
    const reloaded = openChat(await stored());
    await reloaded.sendMessage({ text: "hello" });
    return reloaded;
  },
};

// No chunk that both versions know says how a person decided; who only joins knows the question and its result.
const joined = new Set(["resumeAfterApproval", "resumeInPlaceAfterApproval", "cutAfterApproval", "twoClients"]);
function undecided(messages) {
  for (const part of messages.flatMap((message) => message.parts)) {
    if (part.approval) part.approval = { id: part.approval.id };
  }
  return messages;
}
// What a client cannot know: the metadata we add to its own words, and answers that a retry replaced.
// v6 keeps arguments that are no JSON in `rawInput`; what is stored is the shape of v7, which v6 reads too.
const plain = (messages) =>
  JSON.parse(JSON.stringify(messages))
    .filter((message) => !message.metadata?.replacedBy)
    .map((message) => {
      if (message.role === "user") delete message.metadata;
      for (const part of message.parts) {
        if (version === "6" && part.rawInput !== undefined) {
          part.input = part.rawInput;
          delete part.rawInput;
        }
      }
      return message;
    });

async function validate(messages) {
  for (const message of messages) {
    const result = await safeValidateUIMessages({ messages: [message] });
    assert.ok(result.success, `${JSON.stringify(message)} is not valid: ${result.error}`);
  }
}

async function play(name) {
  threadId = `proof-${name}`;
  seen = [];
  const first = openChat();
  const chats = [(await scenarios[name](first)) ?? first].flat();
  const kept = await stored();
  await validate(kept);
  const compared = joined.has(name) ? (messages) => undecided(plain(messages)) : plain;
  for (const chat of chats) {
    if (name !== "failure") assert.equal(chat.error, undefined, String(chat.error?.stack));
    assert.deepEqual(compared(chat.messages), compared(kept));
  }
  return kept;
}

const results = {};
for (const name of Object.keys(scenarios)) {
  try {
    results[name] = { messages: await play(name) };
  } catch (error) {
    results[name] = { error: String(error.stack) };
  }
}
let rows = 0;
for (const name of readdirSync(folder)) {
  const lines = readFileSync(join(folder, name), "utf8").split("\n").filter(Boolean);
  await validate(lines.map((line) => JSON.parse(line)));
  rows += lines.length;
}
console.log(JSON.stringify({ results, rows }));
