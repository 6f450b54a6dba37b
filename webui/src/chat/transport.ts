import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { csrfHeader, enc, failure, gate, refreshCsrf, ApiError } from "../api/client";
import type { Message } from "../api/types";

async function open(input: RequestInfo | URL, init: RequestInit | undefined): Promise<Response> {
  try {
    return await fetch(input, init);
  } catch (error) {
    if (init?.signal?.aborted) throw error;
    gate.set("offline");
    throw new ApiError(0, "offline", "offline");
  }
}

async function streamFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  let response = await open(input, init);
  if (response.ok) return response;
  let error = await failure(response);
  if (error.code === "csrf" && (await refreshCsrf())) {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(csrfHeader())) headers.set(name, value);
    response = await open(input, { ...init, headers });
    if (response.ok) return response;
    error = await failure(response);
  }
  if (error.status === 401) gate.set("login");
  throw error;
}

/** The AI SDK's own transport; only the last message travels, because the stored thread is the truth. */
function makeTransport(): DefaultChatTransport<Message> {
  return new DefaultChatTransport<Message>({
    api: "/api/chat",
    headers: csrfHeader,
    fetch: streamFetch,
    prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => ({
      body: { ...body, id, messages: messages.slice(-1), trigger, messageId },
    }),
    prepareReconnectToStreamRequest: ({ id }) => ({ api: `/api/chat/${enc(id)}/stream` }),
  });
}

/** Makes the client of a thread. Handed over whole: `useChat` would hide from it that a joined stream begins anew. */
export function makeChat(id: string, onError: (error: Error) => void): Chat<Message> {
  const chat = new Chat<Message>({
    id,
    transport: makeTransport(),
    onError,
    onData: (part) => {
      if (part.type !== "data-message") return;
      const changed = part.data as Message;
      chat.messages = chat.messages.map((message) => (message.id === changed.id ? changed : message));
    },
  });
  return chat;
}

/** Queues a message with files: the server takes it, and its answer is followed later. */
export async function postAndLeave(threadId: string, message: Message): Promise<void> {
  const response = await streamFetch("/api/chat", {
    method: "POST",
    headers: { "content-type": "application/json", ...csrfHeader() },
    body: JSON.stringify({ id: threadId, messages: [message] }),
  });
  await response.body?.cancel();
}
