// Two people use the console in Chromium. Arguments: a file that gets the secrets that were shown, one in each line.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { once } from "node:events";
import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { chromium } from "playwright-core";

const [secrets] = process.argv.slice(2);
const { URL: base, LINK: link } = process.env;
const PASSWORD = "correct horse battery";
const NEW_PASSWORD = "another password";
const WIDTHS = [375, 1280];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });

/** A page of a new browser. Anything that the page's Content-Security-Policy blocks is a fault. */
async function visitor(options = {}, context = undefined) {
  const page = await (context ?? (await browser.newContext(options))).newPage();
  page.on("console", (line) => assert(!line.text().includes("Content Security Policy"), line.text()));
  page.on("pageerror", (error) => assert.fail(error));
  return page;
}

/** Judges the page as it stands: accessibility in light and dark, and no overflow, at each width. */
async function judge(page, name) {
  for (const width of WIDTHS) {
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(overflow, 0, `${name} at ${width}: ${overflow} pixels too wide`);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => axe.run());
      const found = violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`);
      assert.deepEqual(found, [], `${name} at ${width}, ${colorScheme}`);
    }
  }
  assert.equal(await page.locator("h1").count(), 1, name);
}

const keep = (secret) => appendFileSync(secrets, `${secret}\n`);
const me = (key) => fetch(`${base}/v1/me`, { headers: { authorization: `Bearer ${key}` } });
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();

// A link from the operator. Opening it twice does not use it.
const anna = await visitor();
await anna.goto(link);
await anna.goto(link);
await judge(anna, "link");
keep(link.split("/").pop());
await anna.getByLabel("Name").fill("Anna");
await anna.getByLabel("Password").fill(PASSWORD);
await press(anna, "Set the password and sign in");
await anna.waitForURL(`${base}/console`);
await judge(anna, "overview");
assert.equal((await anna.goto(link)).status(), 410);
await judge(anna, "used link");

// The documentation leads to a test key.
await anna.goto(`${base}/docs`);
await anna.locator("#create-key").click();
await anna.getByLabel("Name").fill("trial");
assert(await anna.getByRole("radio", { name: "test" }).isChecked());
await press(anna, "Create the key");
const trial = await anna.locator("#secret").innerText();
keep(trial);
assert.equal((await (await me(trial)).json()).data.environment, "test");

// A key with two scopes. Its secret is in the answer that makes it, and in no other page.
await anna.goto(`${base}/console/keys`);
await judge(anna, "keys");
await anna.goto(`${base}/console/keys/new`);
await judge(anna, "new key");
await anna.getByLabel("Name").fill("phone ".repeat(16));
const scopes = ["tasks:read", "events:read"];
for (const box of await anna.getByRole("checkbox").all()) await box.setChecked(scopes.includes(await box.inputValue()));
await press(anna, "Create the key");
await judge(anna, "secret");
const first = await anna.locator("#secret").innerText();
keep(first);
assert.deepEqual((await (await me(first)).json()).data.scopes, scopes);
const stream = await fetch(`${base}/v1/events/stream?cursor=start`, { headers: { authorization: `Bearer ${first}` } });
assert.equal(stream.status, 200);
for (const path of ["/console", "/console/keys", "/console/people", "/console/session"]) {
  await anna.goto(base + path);
  assert(!(await anna.content()).includes(first.slice(12, 40)), `${path} shows the secret`);
}
assert(!anna.url().includes("svc_"));

// The pages of operation. The feed shows the open stream, and goes on by itself while it is not paused.
for (const path of ["partners", "feed", "requests", "usage", "sandbox", "sandbox/reset", "versions", "backups"]) {
  await anna.goto(`${base}/console/${path}`);
  await judge(anna, path);
}
await anna.goto(`${base}/console/feed`);
await anna.getByRole("cell", { name: "stream", exact: true }).waitFor();
const feed = await visitor({}, anna.context());
await feed.goto(`${base}/console/feed?home=test`);
const head = feed.locator("dd").first();
const changed = (old) => head.filter({ hasNotText: new RegExp(`^${old}$`) }).waitFor({ timeout: 10_000 });
const before = await head.innerText();
const resetSandbox = async () => {
  await anna.goto(`${base}/console/sandbox`);
  await anna.getByRole("link", { name: "Reset the sandbox" }).click();
  await press(anna, "Reset the sandbox");
  await anna.waitForURL(`${base}/console/sandbox`);
};
await resetSandbox();
await changed(before);
await feed.getByRole("cell", { name: "created", exact: true }).first().waitFor();
await judge(feed, "feed with events");
await press(feed, "Pause");
const paused = await head.innerText();
await resetSandbox();
const renewed = feed.waitForResponse((response) => response.url().includes("/console/feed/tail"), { timeout: 6000 });
assert.equal(await renewed.then(() => "asked", () => "quiet"), "quiet", "a paused page asks nothing");
assert.equal(await head.innerText(), paused);
await press(feed, "Go on");
await changed(paused);
await feed.close();
await anna.goto(`${base}/console/backups`);
await press(anna, "Check now");
await anna.getByRole("link", { name: "Refresh" }).or(anna.getByText("Sound.")).first().waitFor();

// Rotation keeps the old key for a day. Revocation ends it, and its stream, at once.
await anna.goto(`${base}/console/keys`);
await judge(anna, "list of keys");
await anna.getByRole("link", { name: "phone" }).first().click();
await judge(anna, "key");
const old = anna.url();
await press(anna, "Rotate the key");
await judge(anna, "rotated");
const second = await anna.locator("#secret").innerText();
keep(second);
assert.deepEqual([(await me(first)).status, (await me(second)).status], [200, 200]);
await anna.goto(old);
await press(anna, "Revoke the key");
const revoked = Date.now();
await Promise.race([stream.text(), new Promise((_, fail) => setTimeout(fail, 5000, new Error("the stream goes on")))]);
assert(Date.now() - revoked < 2000, `the stream ended after ${Date.now() - revoked} ms`);
assert.deepEqual([(await me(first)).status, (await me(second)).status], [401, 200]);

// An owner makes, rotates and revokes a key without scripts. Its name, and every text of the records that it writes, is hostile.
const hostile = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>"'&lt;`;
const owner = await visitor({ javaScriptEnabled: false, storageState: await anna.context().storageState() });
await owner.goto(`${base}/console/keys`);
await owner.getByRole("link", { name: "New API key" }).first().click();
await owner.getByLabel("Name").fill(hostile.slice(0, 60));
await owner.getByRole("radio", { name: "live" }).check();
for (const box of await owner.getByRole("checkbox").all()) await box.check();
await press(owner, "Create the key");
const writer = await owner.locator("#secret").innerText();
keep(writer);
const write = async (path, body) => {
  const authorization = `Bearer ${writer}`;
  const sent = { method: "POST", headers: { authorization, "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(`${base}/v1/${path}`, sent);
  assert.equal(answer.status, 201, `${path}: ${await answer.clone().text()}`);
  return (await answer.json()).data;
};
const texts = {
  rooms: { name: hostile, notes: hostile },
  inventory: { name: hostile, make: hostile, model: hostile, notes: hostile },
  vehicles: { name: hostile, make: hostile, notes: hostile },
  documents: { title: hostile, issuer: hostile, notes: hostile },
  tasks: { title: hostile, assignee: hostile, notes: hostile },
};
const shown = ["/home?q=onerror", "/console/keys", "/console/feed", "/console/requests"];
for (const [collection, fields] of Object.entries(texts)) {
  const list = `/home/${collection === "inventory" ? "items" : collection}`;
  shown.push(collection === "tasks" ? `${list}?show=open` : list, `${list}/${(await write(collection, fields)).id}`);
}
for (const path of shown) {
  assert.equal((await anna.goto(base + path)).status(), 200, path);
  assert.notEqual(await anna.title(), "run", `${path} runs the text of a record`);
  assert((await anna.content()).includes("onerror") || path.endsWith("requests"), `${path} does not show the text`);
}
await owner.goto(`${base}/console/keys`);
await owner.getByRole("link", { name: "onerror" }).first().click();
const hostileKey = owner.url();
await press(owner, "Rotate the key");
keep(await owner.locator("#secret").innerText());
await owner.goto(hostileKey);
await press(owner, "Revoke the key");
assert.equal((await me(writer)).status, 401);

// An owner makes a key by keyboard alone.
const tabTo = async (page, name) => {
  for (let steps = 0; steps < 80; steps += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => [document.activeElement.textContent.trim(), document.activeElement.labels?.[0]?.textContent.trim()]);
    if (at.some((text) => text?.startsWith(name))) return;
  }
  assert.fail(`the keyboard does not reach ${name}`);
};
await anna.goto(`${base}/console/keys`);
await tabTo(anna, "New API key");
await anna.keyboard.press("Enter");
await anna.waitForURL(`${base}/console/keys/new`);
await tabTo(anna, "Name");
await anna.keyboard.type("by keyboard");
await tabTo(anna, "Create the key");
await anna.keyboard.press("Enter");
await anna.locator("#secret").waitFor();
keep(await anna.locator("#secret").innerText());

// A member is invited by a link, without scripts, and reads the home.
await anna.goto(`${base}/console/people`);
await judge(anna, "people");
await anna.getByLabel("Name").fill("Mia");
await press(anna, "Make a one-time link");
await judge(anna, "invitation");
const invitation = await anna.locator("#link").innerText();
keep(invitation.split("/").pop());
assert(await anna.locator("img.qr").evaluate((picture) => picture.complete && picture.naturalWidth > 0), "the QR code is shown");
const plain = await visitor({ javaScriptEnabled: false });
await plain.goto(invitation);
await plain.getByLabel("Password").fill(PASSWORD);
await press(plain, "Set the password and sign in");
await plain.waitForURL(`${base}/home`);
await plain.goto(`${base}/home?q=attic`);
for (const path of ["keys", "feed", "requests", "usage", "sandbox", "versions", "backups"]) {
  assert.equal((await plain.goto(`${base}/console/${path}`)).status(), 403, path);
}

// Sign-in by keyboard alone, with the page that was asked for.
await press(plain, "Sign out");
const mia = await visitor();
await mia.goto(`${base}/home`);
await judge(mia, "sign-in");
await mia.keyboard.press("Tab");
assert.equal(await mia.evaluate(() => document.activeElement.textContent), "Skip to the content");
await mia.keyboard.press("Tab");
await mia.keyboard.type("mia");
await mia.keyboard.press("Tab");
await mia.keyboard.type("not the password");
await mia.keyboard.press("Enter");
await mia.getByRole("alert").waitFor();
await judge(mia, "wrong password");
await mia.getByLabel("Password").focus();
await mia.keyboard.type(PASSWORD);
await mia.keyboard.press("Enter");
await mia.waitForURL(`${base}/home`);
await judge(mia, "home");
await mia.goto(`${base}/console/session`);
await judge(mia, "sessions");
await mia.getByLabel("Old password").fill("not the password");
await mia.getByLabel("New password").fill(NEW_PASSWORD);
await press(mia, "Change the password");
await mia.getByRole("alert").waitFor();
await judge(mia, "wrong old password");
await mia.getByLabel("Old password").fill(PASSWORD);
await mia.getByLabel("New password").fill(NEW_PASSWORD);
await press(mia, "Change the password");
await mia.locator("#changed").waitFor();
await judge(mia, "changed password");
await mia.goto(`${base}/console`);
await judge(mia, "owners only");

// A program of a partner asks for access. The owner takes a scope away, and ends the access later.
const program = createServer((_, response) => response.end("the program has its answer")).listen(0, "127.0.0.1");
await once(program, "listening");
const redirect = `http://127.0.0.1:${program.address().port}/callback`;
const hostileClient = { client_name: hostile.slice(0, 80), redirect_uris: [redirect], grant_types: ["authorization_code"] };
const post = async (path, body) => (await fetch(base + path, { method: "POST", ...body })).json();
const about = { client_name: "Shelf App", redirect_uris: [redirect], grant_types: ["authorization_code", "refresh_token"] };
const headers = { "content-type": "application/json" };
const { client_id } = await post("/oauth/register", { headers, body: JSON.stringify(about) });
const verifier = "a-verifier-of-a-test-with-more-than-43-characters";
const code_challenge = createHash("sha256").update(verifier).digest("base64url");
const asked = { response_type: "code", client_id, redirect_uri: redirect, scope: "rooms:read tasks:read", state: "s" };
const query = new URLSearchParams({ ...asked, code_challenge, code_challenge_method: "S256" });
const evil = await post("/oauth/register", { headers, body: JSON.stringify(hostileClient) });
const evilQuery = new URLSearchParams({ ...asked, client_id: evil.client_id, code_challenge, code_challenge_method: "S256" });
await anna.goto(`${base}/oauth/authorize?${evilQuery}`);
assert((await anna.content()).includes("onerror") && (await anna.title()) !== "run");
await anna.goto(`${base}/oauth/authorize?${query}`);
await judge(anna, "consent");
await anna.getByRole("checkbox", { name: /tasks:read/ }).uncheck();
await anna.getByRole("radio", { name: /^test/ }).check();
await press(anna, "Give access");
await anna.waitForURL(`${redirect}?*`);
const code = new globalThis.URL(anna.url()).searchParams.get("code");
const redeemed = { grant_type: "authorization_code", code, client_id, redirect_uri: redirect, code_verifier: verifier };
const tokens = await post("/oauth/token", { body: new URLSearchParams(redeemed) });
keep(tokens.access_token);
keep(tokens.refresh_token);
assert.equal(tokens.scope, "rooms:read");
assert.equal((await me(tokens.access_token)).status, 200);
await anna.goto(`${base}/console/partners`);
await judge(anna, "partners with a grant");
await press(anna, "End the access of Shelf App");
await anna.waitForURL(`${base}/console/partners`);
assert.equal((await me(tokens.access_token)).status, 401);
await judge(anna, "partners with an ended grant");
program.close();

// A replica gets its key by a code.
const device = { client_id: "hearth-replica", device_name: "Tablet" };
const { user_code, device_code } = await post("/oauth/device_authorization", { body: new URLSearchParams(device) });
await anna.goto(`${base}/oauth/device`);
await judge(anna, "code of a device");
await anna.getByLabel("The code that the device shows").fill(user_code.toLowerCase());
await press(anna, "Go on");
await judge(anna, "device");
await press(anna, "Give access");
await anna.getByRole("heading", { level: 1 }).waitFor();
await judge(anna, "approved device");
const polled = { client_id: "hearth-replica", device_code, grant_type: "urn:ietf:params:oauth:grant-type:device_code" };
const { access_token } = await post("/oauth/token", { body: new URLSearchParams(polled) });
keep(access_token);
assert.equal((await (await me(access_token)).json()).data.key.name, "Tablet");

// Sign-out everywhere ends the other browser too.
const other = await visitor();
await other.goto(`${base}/console/sign-in`);
await other.getByLabel("Name").fill("Mia");
await other.getByLabel("Password").fill(NEW_PASSWORD);
await press(other, "Sign in");
await other.waitForURL(`${base}/home`);
await other.goto(`${base}/console/session`);
await press(other, "Sign out everywhere");
await mia.goto(`${base}/home`);
assert(mia.url().startsWith(`${base}/console/sign-in`), mia.url());
await browser.close();
console.log("the console passed");
