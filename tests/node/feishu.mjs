// Be an app by Feishu's own SDK: `node feishu.mjs URL APP SECRET KEY TOKEN`.
// It tells what it hears over the long connection and what came of what it does, line by line, and ends at "bye".
// A line of its input is a push of the platform, {headers, body}, which it opens as the SDK does.
import * as lark from "@larksuiteoapi/node-sdk";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

const [domain, appId, appSecret, encryptKey, verificationToken] = process.argv.slice(2);
const tell = (value) => console.log(JSON.stringify(value));
const quiet = { logger: { error() {}, warn() {}, info() {}, debug() {}, trace() {} } };
const client = new lark.Client({ appId, appSecret, domain, ...quiet });
const { message, file, messageResource } = client.im.v1;
const card = (words) => JSON.stringify({
  schema: "2.0", config: { update_multi: true },
  body: { elements: [
    { tag: "markdown", content: words },
    { tag: "button", text: { tag: "plain_text", content: "Yes" },
      behaviors: [{ type: "callback", value: { data: "yes" } }] },
  ] },
});

async function answer(event) {
  const { message_id, chat_id, message_type, content, mentions } = event.message;
  tell({ heard: JSON.parse(content), type: message_type, from: event.sender.sender_id.open_id, mentions });
  if (JSON.parse(content).text === "bye") process.exit(0);
  const data = { receive_id: chat_id, msg_type: "interactive", content: card("first"), uuid: "key-1" };
  const params = { receive_id_type: "chat_id" };
  const sent = await message.create({ params, data });
  const again = await message.create({ params, data });
  tell({ sent: sent.code, again: again.data.message_id === sent.data.message_id });
  const changed = await message.patch({ path: { message_id: sent.data.message_id }, data: { content: card("second") } });
  const post = JSON.stringify({ zh_cn: { content: [[{ tag: "md", text: "a post" }]] } });
  const reply = await message.reply({ path: { message_id }, data: { content: post, msg_type: "post", uuid: "key-2" } });
  tell({ changed: changed.code, reply: reply.code });
  const kept = await file.create({ data: { file_type: "stream", file_name: "a.txt", file: createReadStream("package.json") } });
  const got = await messageResource.get({ path: { message_id, file_key: kept.file_key }, params: { type: "file" } });
  const pieces = [];
  for await (const piece of got.getReadableStream()) pieces.push(piece);
  tell({ file: JSON.parse(Buffer.concat(pieces)).name });
  const found = await message.get({ path: { message_id: sent.data.message_id } });
  tell({ mine: found.data.items[0].sender.id });
}

const handlers = {
  "im.message.receive_v1": (event) => { void answer(event); },
  "card.action.trigger": (event) => {
    tell({ clicked: event.action.value.data, by: event.operator.open_id });
    return { toast: { type: "info", content: "noted" } };
  },
};
const opened = new lark.EventDispatcher({ encryptKey, verificationToken, ...quiet }).register({
  "im.message.receive_v1": (event) => { tell({ pushed: JSON.parse(event.message.content).text }); return { code: 0 }; },
});
createInterface({ input: process.stdin }).on("line", async (line) => {
  const { headers, body } = JSON.parse(line);
  const result = await opened.invoke(Object.assign(Object.create({ headers }), body));
  tell({ result: result ?? null });
});
const socket = new lark.WSClient({ appId, appSecret, domain, ...quiet });
await socket.start({ eventDispatcher: new lark.EventDispatcher({ ...quiet }).register(handlers) });
