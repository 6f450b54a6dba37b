// Be a bot by grammY, another implementation of Telegram's Bot API: `node telegram.mjs URL TOKEN`.
// It tells what it hears and what came of what it does, line by line, and ends at the word "bye".
import { Bot, GrammyError, InlineKeyboard, InputFile } from "grammy";

const [url, token] = process.argv.slice(2);
const bot = new Bot(token, { client: { apiRoot: url } });
const tell = (value) => console.log(JSON.stringify(value));

bot.on("message:document", async (context) => {
  const file = await context.getFile();
  const data = await (await fetch(`${url}/file/bot${token}/${file.file_path}`)).text();
  tell({ file: context.msg.document.file_name, data });
});
bot.on("message:text", async (context) => {
  const { text, message_thread_id: topic, entities } = context.msg;
  tell({ text, from: context.from.first_name, chat: context.chat.type, topic, entities });
  if (text === "bye") {
    await bot.stop();
    return;
  }
  const keys = new InlineKeyboard().text("Yes", "yes");
  const sent = await context.reply("bold?", {
    entities: [{ type: "bold", offset: 0, length: 4 }],
    reply_markup: keys,
    reply_parameters: { message_id: context.msg.message_id },
    message_thread_id: topic,
  });
  await context.replyWithChatAction("typing");
  tell({ sent: sent.text, by: sent.from.username, keys: sent.reply_markup.inline_keyboard[0][0].text });
  const file = await context.replyWithDocument(new InputFile(Buffer.from("bytes"), "a b.txt"), { caption: "a file" });
  tell({ document: file.document.file_size, caption: file.caption });
  for (const words of ["", "x".repeat(5000), "limited"]) {
    try {
      await context.api.sendMessage(context.chat.id, words);
    } catch (error) {
      tell({ code: error.error_code, why: error.description, after: error.parameters?.retry_after });
    }
  }
});
bot.on("callback_query:data", async (context) => {
  await context.answerCallbackQuery({ text: "noted" });
  const changed = await context.editMessageText("changed", {});
  tell({ pressed: context.callbackQuery.data, now: changed.text, keys: changed.reply_markup ?? null });
  try {
    await context.editMessageText("changed");
  } catch (error) {
    tell({ known: error instanceof GrammyError, why: error.description });
  }
});
bot.on("edited_message:text", (context) => tell({ edited: context.editedMessage.text }));
bot.on("channel_post:text", (context) => tell({ post: context.channelPost.text }));
await bot.start({ allowed_updates: ["message", "edited_message", "channel_post", "callback_query"] });
