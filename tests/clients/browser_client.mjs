// Serves the pages of a directory, writes their origin to a file, and waits until the API allows the origin. Then a page
// in Chromium calls the API.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { chromium } from "playwright-core";

const [directory, originFile] = process.argv.slice(2);
const { URL: api, KEY: key } = process.env;

// `/feed` is the stream, with the key added on the server's side: a browser's EventSource cannot send the key.
const pages = createServer((asked, answer) => {
  if (asked.url !== "/feed") {
    const file = `${directory}/${asked.url.slice(1)}`;
    const isThere = existsSync(file) && asked.url !== "/";
    answer.writeHead(200, { "content-type": "text/html" }).end(isThere ? readFileSync(file) : "<!doctype html>");
    return;
  }
  const headers = { authorization: `Bearer ${key}` };
  if (asked.headers["last-event-id"]) headers["last-event-id"] = asked.headers["last-event-id"];
  const stream = request(`${api}/v1/events/stream?cursor=start`, { headers }, (response) => {
    answer.writeHead(response.statusCode, { "content-type": response.headers["content-type"] });
    response.pipe(answer);
  });
  asked.on("close", () => stream.destroy());
  stream.on("error", () => answer.destroy()).end();
});
await new Promise((ready) => pages.listen(0, "127.0.0.1", ready));
const port = pages.address().port;
const [allowed, other] = [`http://localhost:${port}`, `http://127.0.0.1:${port}`];
writeFileSync(originFile, allowed);
while (!existsSync(`${originFile}.allowed`)) await pause(100);

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage();
await page.goto(allowed);

// Requests with a preflight. The page reads bodies, refusals and headers.
const seen = await page.evaluate(
  async ({ api, key }) => {
    const ask = async (method, path, body, more) => {
      const headers = { Authorization: `Bearer ${key}`, ...(body && { "Content-Type": "application/json" }), ...more };
      const response = await fetch(`${api}${path}`, { method, headers, body: body && JSON.stringify(body) });
      const text = await response.text();
      const header = (name) => response.headers.get(name);
      return { status: response.status, header, json: text.startsWith("{") ? JSON.parse(text) : text };
    };
    const made = await ask("POST", "/v1/tasks", { title: "Made in a page" }, { "Idempotency-Key": "page" });
    const path = made.header("Location");
    const replayed = await ask("POST", "/v1/tasks", { title: "Made in a page" }, { "Idempotency-Key": "page" });
    const patched = await ask("PATCH", path, { status: "done" }, { "If-Match": made.header("ETag") });
    const stale = await ask("PATCH", path, { status: "open" }, { "If-Match": made.header("ETag") });
    const versioned = await ask("GET", path, null, { "Service-API-Version": "2026-03-01" });
    const unchanged = await ask("GET", path, null, { "If-None-Match": patched.header("ETag") });
    const deleted = await ask("DELETE", path);
    const missing = await ask("GET", path);
    const keyless = await ask("GET", "/v1/me", null, { Authorization: "Bearer nonsense" });
    const described = await ask("GET", "/openapi/v1");
    const message = { jsonrpc: "2.0", id: 1, method: "ping" };
    const pinged = await ask("POST", "/mcp", message, { "MCP-Protocol-Version": "2025-06-18", Accept: "application/json" });
    const status = (answer) => answer.status;
    return {
      writes: [made, patched, stale, deleted].map(status),
      reads: [versioned, unchanged, missing, keyless, described, pinged].map(status),
      replayed: replayed.header("Idempotency-Replayed"),
      version: versioned.header("Service-API-Version"),
      requestId: missing.header("X-Request-Id") === missing.json.meta.request_id,
      challenge: keyless.header("WWW-Authenticate"),
      openapi: described.json.openapi,
    };
  },
  { api, key },
);
assert.deepEqual(seen, {
  writes: [201, 200, 412, 200],
  reads: [200, 304, 404, 401, 200, 200],
  replayed: "true",
  version: "2026-03-01",
  requestId: true,
  challenge: `Bearer error="invalid_token", resource_metadata="${api}/.well-known/oauth-protected-resource/v1"`,
  openapi: "3.1.0",
});

// The example follows the stream with fetch, and shows a change that is made meanwhile.
await page.goto(`${allowed}/browser_feed.html`);
await page.fill("input[name=url]", api);
await page.fill("input[name=key]", key);
await page.click("button");
await page.waitForFunction(() => document.querySelector("#state").textContent === "Up to date.");
await fetch(`${api}/v1/rooms`, {
  method: "POST",
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  body: JSON.stringify({ name: "Seen in the page" }),
});
await page.waitForFunction(() => document.querySelector("#changes li").textContent === "created room: Seen in the page");
const feed = await (await fetch(`${api}/v1/events?limit=1`, { headers: { authorization: `Bearer ${key}` } })).json();
const { head } = feed.meta.feed;
assert.equal(await page.locator("#changes li").count(), head);

// Chromium's own EventSource calls `message` once for each event, and never for a heartbeat or a comment.
const counted = await page.evaluate(
  (origin) =>
    new Promise((done, fail) => {
      const source = new EventSource(`${origin}/feed`);
      const ids = [];
      let heartbeats = 0;
      source.onmessage = (message) => ids.push(JSON.parse(message.data).id);
      source.addEventListener("heartbeat", (heartbeat) => {
        if (JSON.parse(heartbeat.data).cursor !== heartbeat.lastEventId) fail(new Error(heartbeat.data));
        heartbeats += 1;
        if (heartbeats === 2) done({ first: ids[0], count: ids.length, last: ids.at(-1) });
      });
    }),
  allowed,
);
assert.deepEqual(counted, { first: 1, count: head, last: head });

// A page of another origin reads nothing, whether the request has a preflight or not.
await page.goto(other);
const hidden = await page.evaluate(async (api) => {
  const refused = (options) => fetch(`${api}/v1/me`, options).then(() => "read", (error) => error.name);
  return [await refused({ headers: { Authorization: "Bearer x" } }), await refused({})];
}, api);
assert.deepEqual(hidden, ["TypeError", "TypeError"]);

await browser.close();
console.log(`Chromium ${browser.version()}: requests, refusals, MCP, ${head} events by fetch and by EventSource`);
process.exit(0);
