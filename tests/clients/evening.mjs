// Two people in Chromium: an owner, and a member on a phone. The first argument says what they do. Their sessions are kept in files
// between the runs. Only the browser accepts the certificate unchecked.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { chromium } from "playwright-core";

const { URL: base, LINK: link, WORK: work } = process.env;
const [what, argument] = process.argv.slice(2);
const PASSWORD = "correct horse battery";
const PHONE = { width: 375, height: 760 };
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });

/** A page of a person, with the session of an earlier run. */
async function visit(name, viewport) {
  const file = `${work}/${name}.json`;
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport, storageState: existsSync(file) ? file : undefined });
  const page = await context.newPage();
  page.on("pageerror", (error) => assert.fail(error));
  return { page, keep: () => context.storageState({ path: file }) };
}

const press = (page, name) => page.getByRole("button", { name, exact: true }).click();

/** Photos of different colours. The bytes are kept in files. */
async function photo(page, number) {
  const text = await page.evaluate((hue) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 1200, height: 900 });
    const brush = canvas.getContext("2d");
    brush.fillStyle = `hsl(${hue} 60% 40%)`;
    brush.fillRect(0, 0, 1200, 900);
    return canvas.toDataURL("image/jpeg", 0.8).split(",")[1];
  }, number * 90);
  const buffer = Buffer.from(text, "base64");
  writeFileSync(`${work}/photo-${number}.jpg`, buffer);
  return { name: `IMG_${number}.jpg`, mimeType: "image/jpeg", buffer };
}

async function addByPhoto(page, number) {
  await page.goto(`${base}/home/add`);
  await page.getByLabel("Or choose photos").setInputFiles(await photo(page, number));
  await press(page, "Add");
  await page.waitForURL(/said=added/);
  assert.match(await page.getByRole("heading", { level: 1 }).innerText(), /^Photo of /);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert(wide <= PHONE.width, `${wide} pixels wide`);
}

/** Opens an item by the search of the home. */
async function find(page, name) {
  await page.goto(`${base}/home`);
  await page.getByRole("searchbox").fill(name);
  await press(page, "Search");
  await page.getByRole("link", { name: new RegExp(`^${name}`) }).first().click();
}

const steps = {
  /** The owner comes in by the link of the operator, and invites a member. */
  async owner() {
    const { page, keep } = await visit("anna");
    await page.goto(link);
    await page.getByLabel("Name").fill("Anna");
    await page.getByLabel("Password").fill(PASSWORD);
    await press(page, "Set the password and sign in");
    await page.waitForURL(`${base}/console`);
    await page.goto(`${base}/console/people`);
    await page.getByLabel("Name").fill("Mia");
    await press(page, "Make a one-time link");
    writeFileSync(`${work}/invitation`, await page.locator("#link").innerText());
    await keep();
  },
  /** The owner approves the device with this code, for the live home. */
  async approve() {
    const { page } = await visit("anna");
    await page.goto(`${base}/oauth/device`);
    await page.getByLabel("The code that the device shows").fill(argument);
    await press(page, "Go on");
    await page.getByRole("radio", { name: /^live/ }).check();
    await press(page, "Give access");
    await page.getByRole("heading", { name: "Access given" }).waitFor();
  },
  /** The member accepts the invitation, and adds an item by a photo alone. */
  async photo() {
    const { page, keep } = await visit("mia", PHONE);
    await page.goto(argument);
    await page.getByLabel("Password").fill(PASSWORD);
    await press(page, "Set the password and sign in");
    await page.waitForURL(`${base}/home`);
    await addByPhoto(page, 1);
    await keep();
  },
  /** While the first person has no network: another photo, a changed quantity, and a finished task. */
  async meanwhile() {
    const { page } = await visit("mia", PHONE);
    await addByPhoto(page, 2);
    await find(page, "Regal 017");
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Quantity").fill("7");
    await press(page, "Save");
    await page.waitForURL(/said=/);
    await page.goto(`${base}/home`);
    await press(page, "Done: Papiertonne hinausstellen");
    await page.getByRole("button", { name: "Undo" }).waitFor();
  },
  /** The member sees what the first person did without a network. */
  async reads() {
    const { page } = await visit("mia", PHONE);
    await find(page, "Regal 017, im Keller");
    await page.getByRole("heading", { name: "Regal 017, im Keller" }).waitFor();
    await page.goto(`${base}/home`);
    await page.getByRole("link", { name: /^Dachrinne reinigen/ }).waitFor();
    await page.getByRole("link", { name: /^Wasserfilter wechseln/ }).waitFor();
  },
};

await steps[what]();
await browser.close();
