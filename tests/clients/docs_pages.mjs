// Opens every page of /docs in Chromium: no accessibility fault by axe-core, no horizontal overflow and no report of the content
// security policy, on a phone and a wide screen, in light and dark, with and without script. Then the reference: complete, usable by
// keyboard, with a filter.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const { URL: base } = process.env;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const { errors } = (await (await fetch(`${base}/v1/_meta`)).json()).data;
const description = await (await fetch(`${base}/openapi/v1.json`)).json();

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });

/** Opens a page with a list of everything that the browser complains about. */
async function open(path, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("response", (response) => response.status() >= 400 && complaints.push(`${response.status()} ${response.url()}`));
  await page.goto(base + path, { waitUntil: "load" });
  return { context, page, complaints };
}

/** The faults that axe-core finds, each with its place. Playwright's evaluate is not subject to the page's policy. */
async function faults(page, look) {
  await page.evaluate(axe);
  // Dark differs by its colours alone.
  const rules = look.colorScheme === "dark" ? { runOnly: ["color-contrast"] } : {};
  return page.evaluate(async (rules) => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"], ...rules });
    return violations.map((fault) => `${fault.id}: ${fault.nodes.slice(0, 3).map((node) => node.target.join(" ")).join("; ")}`);
  }, rules);
}

// All pages: those that the portal leads to, and the page of each error type.
const { context, page } = await open("/docs", {});
const linked = await page.evaluate(() => [...document.querySelectorAll("a")].map((link) => new URL(link.href).pathname));
await context.close();
const contents = await open("/docs/reference", {});
linked.push(...(await contents.page.evaluate(() => [...document.querySelectorAll("a")].map((link) => new URL(link.href).pathname))));
await contents.context.close();
const types = errors.map((error) => `/docs/errors/${error.type}`);
const pages = [...new Set([...linked, ...types])].filter((path) => path.startsWith("/docs")).sort();
assert.ok(pages.length > 20 && pages.includes("/docs/guides/testing-sync"), pages.join(" "));

const looks = [
  { viewport: { width: 375, height: 800 }, colorScheme: "light" },
  { viewport: { width: 1280, height: 900 }, colorScheme: "light" },
  { viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
];
for (const path of pages) {
  // The pages of errors differ by their words alone: one look each is enough.
  for (const look of path.startsWith("/docs/errors/") ? looks.slice(0, 1) : looks) {
    const { context, page, complaints } = await open(path, look);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (process.env.VERBOSE) console.log(path, JSON.stringify(look), Math.round(performance.now()));
    const seen = { faults: await faults(page, look), overflow, complaints };
    assert.deepEqual(seen, { faults: [], overflow: 0, complaints: [] }, `${path} ${JSON.stringify(look)}`);
    const targets = await page.evaluate(() =>
      [...document.querySelectorAll('a[href^="#"]')].filter((link) => !document.getElementById(link.hash.slice(1))).map((link) => link.hash),
    );
    assert.deepEqual(targets, [], `${path}: links without a target`);
    await context.close();
  }
}

// The reference: each operation and schema of the description has its anchor on one page, and an address of the contents leads on.
const operations = Object.values(description.paths).flatMap((path) => Object.values(path)).map((one) => one.operationId);
for (const javaScriptEnabled of [true, false]) {
  const { context, page } = await open("/docs/reference", { javaScriptEnabled });
  const anchors = [...operations, ...Object.keys(description.components.schemas).map((name) => `schema-${name}`)];
  for (const anchor of anchors) assert.equal(await page.locator(`[id="${anchor}"]`).count(), 1, anchor);
  assert.equal(await page.locator("#filter").isVisible(), javaScriptEnabled);
  await context.close();
}
const shown = new Set();
for (const path of pages.filter((path) => path.startsWith("/docs/reference/"))) {
  const { context, page } = await open(path, {});
  for (const id of await page.evaluate(() => [...document.querySelectorAll("[id]")].map((one) => one.id))) shown.add(id);
  await context.close();
}
const missing = [
  ...operations.flatMap((id) => [id, `${id}-request`]),
  ...Object.keys(description.components.schemas).map((name) => `schema-${name}`),
].filter((id) => !shown.has(id));
assert.deepEqual(missing, []);
const reference = await open("/docs/reference", { viewport: { width: 1280, height: 900 } });
const timing = await reference.page.evaluate(() => Math.round(performance.getEntriesByType("navigation")[0].loadEventEnd));
assert.ok(timing < 1000, `the reference opened after ${timing} ms`);
for (const anchor of ["list_tasks", "list_tasks-request", "schema-Task", "status-404", "tag-tasks"]) {
  await reference.page.goto("about:blank");
  await reference.page.goto(`${base}/docs/reference#${anchor}`);
  await reference.page.waitForFunction((hash) => location.pathname.startsWith("/docs/reference/") && location.hash === hash, `#${anchor}`);
  assert.ok(await reference.page.locator(`[id="${anchor}"]`).isVisible(), anchor);
}

// By keyboard alone: skip the navigation, then filter, then follow a link that the filter left.
await reference.page.goto(`${base}/docs/reference`);
await reference.page.keyboard.press("Tab");
await reference.page.keyboard.press("Enter");
assert.equal(await reference.page.evaluate(() => document.activeElement.id), "content");
await reference.page.keyboard.press("/");
await reference.page.keyboard.type("delete_task");
await reference.page.waitForFunction(() => document.querySelector("#found").textContent === "1 found");
assert.deepEqual(await reference.page.locator(".entry:visible a").allTextContents(), ["Delete one task"]);
await reference.page.locator(".entry:visible a").press("Enter");
await reference.page.waitForFunction(() => location.hash === "#delete_task");
assert.ok(await reference.page.locator("#delete_task").isVisible());

await browser.close();
console.log(`${pages.length} pages without a fault; ${operations.length} operations ready after ${timing} ms`);
