// Keeps the page itself, and nothing else, so that it can say what to do while its server is away.
// Answers of the API are never touched here: they hold what people said, and must be true.
const CACHE = "shipmate-page";
const SHELL = "/";
// Files are named after what they hold; the oldest of more than these belong to pages of long ago.
const KEPT = 60;
// The words of the other language are part of the shell, though the page loads them by itself.
const NEEDED = /\/assets\/(?:index|react|mark|zh)-[\w-]+\.(?:js|css|svg)/g;

self.addEventListener("install", (event) => {
  event.waitUntil(
    keepShell()
      .catch(() => undefined)
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== self.location.origin) return;
  if (event.request.mode === "navigate" && url.pathname === SHELL && !url.search) event.respondWith(openPage(event.request));
  else if (url.pathname.startsWith("/assets/")) event.respondWith(readFile(event.request));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(showApprovals());
});

async function showApprovals() {
  const pages = await self.clients.matchAll({ type: "window" });
  if (pages.length === 0) return self.clients.openWindow("/#/approvals");
  await pages[0].focus();
  return pages[0].postMessage({ show: "approvals" });
}

/** The server's page first: what is kept is for the time it is away. */
async function openPage(request) {
  try {
    const answer = await fetch(request);
    if (answer.ok && !answer.redirected) await keep(SHELL, answer.clone());
    return answer;
  } catch (error) {
    const kept = await caches.match(SHELL, { cacheName: CACHE });
    if (!kept) throw error;
    return kept;
  }
}

async function readFile(request) {
  const kept = await caches.match(request, { cacheName: CACHE });
  if (kept) return kept;
  const answer = await fetch(request);
  if (answer.ok) await keep(request, answer.clone());
  return answer;
}

async function keep(request, answer) {
  const cache = await caches.open(CACHE);
  await cache.put(request, answer);
  const known = await cache.keys();
  const files = known.filter((one) => new URL(one.url).pathname !== SHELL);
  await Promise.all(files.slice(0, Math.max(0, files.length - KEPT)).map((one) => cache.delete(one)));
}

/** Fetches the page and what it needs to say that its server is away. */
async function keepShell() {
  const page = await fetch(SHELL, { cache: "no-cache" });
  if (!page.ok || page.redirected) return;
  const text = await page.clone().text();
  await keep(SHELL, page);
  const first = new Set(text.match(NEEDED) ?? []);
  for (const name of first) {
    const file = await fetch(name);
    if (!file.ok) continue;
    // Scripts name what they load by where it lies beside them.
    if (name.endsWith(".js")) {
      const inner = (await file.clone().text()).replaceAll("./", "/assets/").replaceAll('"assets/', '"/assets/');
      for (const other of inner.match(NEEDED) ?? []) first.add(other);
    }
    await keep(name, file);
  }
}
