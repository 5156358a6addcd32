// A person of the family lets the server read a photo, and accepts what was read field by field.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const { URL: base, LINK: link, LIVE: key, PLATE: plate, INVOICE: invoice, HAS_MODELS: hasModels, SHOTS: shots } = process.env;
const CODE = "4006381333931";
const READ_MAX = 90_000; // milliseconds
const ATTEMPTS_MAX = 3;
const TABS_MAX = 100;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await (await browser.newContext({ viewport: { width: 375, height: 760 } })).newPage();
page.on("console", (line) => assert(!line.text().includes("Content Security Policy"), line.text()));
page.on("pageerror", (error) => assert.fail(error));
const press = (name) => page.getByRole("button", { name, exact: true }).click();

async function judge(name) {
  await page.waitForLoadState("load");
  for (const [width, colorScheme] of [[375, "light"], [375, "dark"], [1280, "light"]]) {
    await page.setViewportSize({ width, height: 760 });
    await page.emulateMedia({ colorScheme });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(overflow, 0, `${name} at ${width}: ${overflow} pixels too wide`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run());
    assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`), [], name);
    if (shots) await page.screenshot({ path: `${shots}/${name}-${width}-${colorScheme}.png`, fullPage: true });
  }
  await page.setViewportSize({ width: 375, height: 760 });
}

// The home has a thing with the same bar code.
const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
const body = JSON.stringify({ name: "Iron", barcode: CODE });
assert((await fetch(`${base}/v1/inventory`, { method: "POST", headers, body })).ok);

await page.goto(link);
await page.getByLabel("Name").fill("Anna");
await page.getByLabel("Password").fill("correct horse battery");
await press("Set the password and sign in");
await page.goto(`${base}/home`);
await page.getByRole("link", { name: "Read photos" }).click();
let said = "";
for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
  await page.getByLabel("Or choose photos or PDF").setInputFiles(plate);
  await page.getByLabel("Note").fill("in the cellar");
  await press("Read");
  await page.waitForURL(/\/home\/captures\//);
  // The page shows the drafts by itself. A program without optimization may need too long on a machine with other work.
  await page.waitForFunction(() => location.pathname.includes("/captures/") && !document.querySelector("[data-wait]"), null, { timeout: READ_MAX });
  said = await page.locator("main").innerText();
  if (!said.includes("took more than")) break;
  await page.getByRole("link", { name: "Read other photos" }).click();
}
assert(await page.getByRole("button", { name: "Add this item" }).isVisible(), said);
await page.waitForFunction(() => [...document.querySelectorAll(".boxes img")].every((picture) => picture.complete && picture.naturalWidth > 0));
await judge("drafts");
await page.getByText("Same bar code as: Iron").waitFor();

// The box of the bar code lies on the bars, and leads to what was read there.
const box = page.locator('.boxes a[aria-label*="Barcode"]');
const [frame, picture] = [await box.locator("rect").boundingBox(), await page.locator(".boxes img").boundingBox()];
const middle = [(frame.x + frame.width / 2 - picture.x) / picture.width, (frame.y + frame.height / 2 - picture.y) / picture.height];
assert(middle[0] > 0.3 && middle[0] < 0.75 && middle[1] > 0.5 && middle[1] < 0.88, `the box is at ${middle}`);
await box.click();
await page.locator("details.why[open]").getByText(CODE).waitFor();
await page.getByRole("link", { name: "Show the place" }).click();
if (shots) await page.screenshot({ path: `${shots}/evidence-375.png` });
assert.equal(await page.locator('input[name="item.barcode"]').inputValue(), CODE);
if (hasModels) {
  assert.equal(await page.locator('input[name="item.model"]').inputValue(), "WAN28232");
  assert.match(await page.locator('input[name="item.serial_number"]').inputValue(), /485030123456/);
}

// The evidence opens without a script too.
const plain = await (await browser.newContext({ javaScriptEnabled: false, storageState: await page.context().storageState() })).newPage();
await plain.goto(page.url().split("#")[0]);
await plain.locator('.boxes a[aria-label*="Barcode"]').click();
await plain.locator("details.why").getByText(`“${CODE}”`).waitFor();

// Only what is marked is stored.
await page.locator('input[name="item.name"]').fill("Washing machine");
await page.locator('input[name="take"][value="item.barcode"]').setChecked(true);
const notes = page.locator('input[name="take"][value="item.notes"]');
if (await notes.count()) await notes.setChecked(false);
await press("Add this item");
await page.waitForURL(/said=added/);
assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), "Washing machine");
await page.waitForFunction(() => [...document.querySelectorAll(".pictures img")].every((picture) => picture.complete && picture.naturalWidth > 0));
assert.equal(await page.locator(".pictures img").count(), 1);
assert.equal(await page.getByText("in the cellar").count(), 0);

// The picture is a document, whose file can be read again: the document itself is offered, not a second one.
await page.locator("section ul.rows li a").first().click();
await press("Read this paper");
await page.waitForFunction(() => location.pathname.includes("/captures/") && !document.querySelector("[data-wait]"), null, { timeout: READ_MAX });
await page.getByText("Same file as").waitFor();
await judge("paper");
await press("Discard");
await page.getByText("Discarded").waitFor();
await judge("list");

// A file that is no picture: the page says why, and offers other photos.
await page.goto(`${base}/home/read`);
await judge("read");
await page.getByLabel("Or choose photos or PDF").setInputFiles({ name: "dark.jpg", mimeType: "image/jpeg", buffer: Buffer.from("\xff\xd8\xff\xe0 dark", "latin1") });
await press("Read");
await page.waitForFunction(() => location.pathname.includes("/captures/") && !document.querySelector("[data-wait]"), null, { timeout: READ_MAX });
await page.getByText("could not be read").first().waitFor();
await judge("failed");

// By keyboard alone, and without a script: a paper is sent, its page is looked at again, a value is typed, and the item is there.
const tabTo = async (selector) => {
  for (let step = 0; step < TABS_MAX; step += 1) {
    await plain.keyboard.press("Tab");
    if (await plain.locator(selector).and(plain.locator(":focus")).count()) return;
  }
  assert.fail(`${selector} is not reached by the tabulator key on ${plain.url()}`);
};
await plain.goto(`${base}/home/read`);
await plain.getByLabel("Or choose photos or PDF").setInputFiles(invoice);
await tabTo("form button");
await plain.keyboard.press("Enter");
await plain.waitForURL(/\/home\/captures\//);
for (const until = Date.now() + READ_MAX; await plain.getByRole("link", { name: "Look again" }).count(); ) {
  assert(Date.now() < until, "the paper was not read");
  await tabTo('a:text("Look again")');
  await Promise.all([plain.waitForEvent("load"), plain.keyboard.press("Enter")]);
}
await tabTo('input[name="item.name"]');
await plain.keyboard.press("Control+A");
await plain.keyboard.type("Dishwasher");
await tabTo('input[name="take"][value="item.barcode"]');
if (await plain.locator('input[name="take"][value="item.barcode"]').isChecked()) await plain.keyboard.press("Space");
await tabTo("form button.main");
await plain.keyboard.press("Enter");
await plain.waitForURL(/said=added/);
assert.equal(await plain.getByRole("heading", { level: 1 }).innerText(), "Dishwasher");
const dishwasher = (await (await fetch(`${base}/v1/inventory?limit=100`, { headers })).json()).data.find((item) => item.name === "Dishwasher");
assert.deepEqual([dishwasher.purchase_price, dishwasher.barcode], ["891.31", null], "only what is marked is stored");
await browser.close();
