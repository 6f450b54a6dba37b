/** Speaks to the server: one place for the CSRF header, errors, and whether the server can be reached. */

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly next: string = "",
    readonly body: unknown = undefined,
  ) {
    super(message);
  }
}

type Listener = () => void;

/** Holds one value that components can watch. */
export class Cell<T> {
  private listeners = new Set<Listener>();

  constructor(private value: T) {}

  get = (): T => this.value;

  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of [...this.listeners]) listener();
  }

  subscribe = (listener: Listener): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
}

/** What stands between the person and the page: nothing, a lost server, a missing login, a missing Agent.md. */
export type Gate = "open" | "offline" | "login" | "setup";
export const gate = new Cell<Gate>("open");

let csrf = "";
// Whom this page speaks to.
let workspace = "";

/** Takes what the server said of itself. When another workspace is served here now the page begins anew, and nothing goes on. */
export async function meet(found: { csrf: string; workspace: { id: string } }): Promise<void> {
  if (workspace && found.workspace.id !== workspace) {
    // What was written for the first one is not for it.
    window.location.reload();
    await new Promise(() => undefined);
  }
  csrf = found.csrf;
  workspace = found.workspace.id;
}

export function csrfHeader(): Record<string, string> {
  return csrf ? { "x-shipmate-csrf": csrf } : {};
}

function lost(): ApiError {
  gate.set("offline");
  return new ApiError(0, "offline", "offline");
}

export async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const isForm = body instanceof FormData;
  const headers: Record<string, string> = method === "GET" ? {} : csrfHeader();
  if (body !== undefined && !isForm) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : isForm ? body : JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw lost();
  }
  if (gate.get() === "offline") gate.set("open");
  return response;
}

export async function failure(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => undefined);
  const error = (body as { error?: { code?: string; message?: string; next?: string } } | undefined)?.error;
  return new ApiError(
    response.status,
    error?.code ?? "internal",
    error?.message ?? `${response.status} ${response.statusText}`,
    error?.next ?? "",
    body,
  );
}

export async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  let response = await send(method, path, body);
  if (response.status === 403) {
    // A restarted server may have a new CSRF value: fetch it once and try again.
    const first = await failure(response);
    if (first.code !== "csrf" || !(await refreshCsrf())) throw first;
    response = await send(method, path, body);
  }
  if (!response.ok) {
    const error = await failure(response);
    if (error.status === 401) gate.set("login");
    if (error.code === "setup") gate.set("setup");
    throw error;
  }
  if (response.status === 204 || response.headers.get("content-length") === "0") return undefined as T;
  try {
    return (await response.json()) as T;
  } catch {
    // The server went away in the middle of its answer.
    throw lost();
  }
}

export async function refreshCsrf(): Promise<boolean> {
  const response = await send("GET", "/api/session");
  if (!response.ok) return false;
  await meet((await response.json()) as { csrf: string; workspace: { id: string } });
  return true;
}

export function query(values: Record<string, string | number | boolean | undefined | null>): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== "") search.set(key, String(value));
  }
  const text = search.toString();
  return text ? `?${text}` : "";
}

export const enc = encodeURIComponent;
