// A member of a family uses the pages of the home in Chromium.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const { URL: base, LINK: link, LIVE: key, SHOTS: shots } = process.env;
const PASSWORD = "correct horse battery";
const SIZES = [{ width: 375, height: 760 }, { width: 1280, height: 800 }];
const TOUCH = 44; // pixels
const PAGE_MAX = 30 * 1024; // bytes
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
if (shots) mkdirSync(shots, { recursive: true });

/** A page of a new browser. Anything that the page's Content-Security-Policy blocks is a fault. */
async function visitor(options = {}) {
  const page = await (await browser.newContext(options)).newPage();
  page.on("console", (line) => assert(!line.text().includes("Content Security Policy"), line.text()));
  page.on("pageerror", (error) => assert.fail(error));
  return page;
}

/** Links and inputs that a finger cannot hit. Links inside of a sentence or of a value are left out. */
const tooSmall = (least) => [...document.querySelectorAll("a, button, select, textarea, input:not([type=hidden])")]
  // The words beside a box are a part of it. The boxes in a picture lead to inputs that are large enough.
  .filter((part) => part.checkVisibility() && !part.closest(".skip, dd, .told p, .pictures, .boxes"))
  .map((part) => [part.outerHTML.slice(0, 120), (part.closest("label.check") ?? part).getBoundingClientRect()])
  .filter(([, box]) => box.height > 1 && (box.height < least || box.width < least))
  .map(([html, box]) => `${html} ${box.width}x${box.height}`);

/** Judges the page as it stands, at each width, in light and dark. */
async function judge(page, name) {
  await page.waitForLoadState("load");
  for (const size of SIZES) {
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme });
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(overflow, 0, `${name} at ${size.width}: ${overflow} pixels too wide`);
      assert.deepEqual(await page.evaluate(tooSmall, TOUCH), [], `${name} at ${size.width}`);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => axe.run());
      const found = violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`);
      assert.deepEqual(found, [], `${name} at ${size.width}, ${colorScheme}`);
      if (shots) await page.screenshot({ path: `${shots}/${name.replaceAll(" ", "-")}-${size.width}-${colorScheme}.png`, fullPage: true });
    }
  }
  assert.equal(await page.locator("h1").count(), 1, name);
  const html = await (await page.request.get(page.url())).text();
  assert(html.length <= PAGE_MAX, `${name} has ${html.length} characters`);
  await page.setViewportSize(SIZES[0]);
}

const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
async function api(method, path, body) {
  const response = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  const answer = await response.json();
  assert(response.ok, JSON.stringify(answer));
  return answer.data;
}
const day = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

// What the family has. Names are long and short, as names are.
await api("PATCH", "/v1/property", { time_zone: "Europe/Berlin", currency: "EUR", unit_system: "metric" });
const rooms = {};
for (const name of ["Kitchen", "Living room", "Children's room", "Attic", "Garage", "Cellar", "Bathroom"]) {
  rooms[name] = (await api("POST", "/v1/rooms", { name, area_sq_ft: 161 })).id;
}
const fridge = await api("POST", "/v1/inventory", { name: "Fridge-freezer", room_id: rooms.Kitchen, make: "Liebherr", model: "CNd 5223", serial_number: "81.552.118.4", purchase_price: "1149.00", purchase_date: "2024-03-02", warranty_expires_on: day(20), notes: "The filter is behind the lower drawer.\nThe light is LED and cannot be changed." });
for (const [name, room, quantity] of [["Cordless drill", "Garage", 1], ["Dining chair, oak with a woven seat, from grandmother's house in the mountains", "Living room", 6], ["Bicycle", "Garage", 2], ["Tent", "Attic", 1]]) {
  await api("POST", "/v1/inventory", { name, room_id: rooms[room], quantity, purchase_price: "249.90" });
}
await api("POST", "/v1/vehicles", { name: "Family car", make: "Škoda", model: "Octavia", license_plate: "B HE 1234", insurance_expires_on: day(60), odometer: 84210 });
await api("POST", "/v1/documents", { title: "Passport of Mia", category: "identification", expires_on: day(-4) });
for (const [title, due, more] of [["Change the water filter", -3, { recurrence: "monthly", subject_type: "inventory", subject_id: fridge.id }], ["Take out the paper bin", 0, { recurrence: "weekly", recurrence_every: 2, assignee: "Mia" }], ["Winter tyres", 5, { priority: "high" }], ["Call the chimney sweep", 21, {}]]) {
  await api("POST", "/v1/tasks", { title, due_on: day(due), ...more });
}
await api("POST", "/v1/tasks", { title: "Sort the photos" });

// An owner invites a member.
const anna = await visitor();
await anna.goto(link);
await anna.getByLabel("Name").fill("Anna");
await anna.getByLabel("Password").fill(PASSWORD);
await press(anna, "Set the password and sign in");
await anna.goto(`${base}/console/people`);
await anna.getByLabel("Name").fill("Mia");
await press(anna, "Make a one-time link");
const invitation = await anna.locator("#link").innerText();
const mia = await visitor();
await mia.goto(invitation);
await mia.getByLabel("Password").fill(PASSWORD);
await press(mia, "Set the password and sign in");
await mia.waitForURL(`${base}/home`);
await judge(mia, "home");

// Search and every kind of page.
await mia.getByRole("searchbox").fill("fri");
await press(mia, "Search");
await judge(mia, "search");
await mia.getByRole("link", { name: /^Fridge-freezer/ }).click();
await judge(mia, "item");
for (const list of ["rooms", "items", "tasks", "documents", "vehicles"]) {
  await mia.goto(`${base}/home/${list}`);
  await judge(mia, list);
  await mia.locator("ul.rows li > a").first().click();
  await judge(mia, `one of ${list}`);
}
await mia.goto(`${base}/home/tasks?show=done`);
await judge(mia, "no done tasks");
assert.equal((await mia.goto(`${base}/home/items/none`)).status(), 404);

// Two photos alone become an item, with the script: the chosen photos are shown first.
const pictures = await mia.evaluate(async () => {
  const paint = (colour, text) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 1200, height: 900 });
    const brush = canvas.getContext("2d");
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1200, 900);
    brush.fillStyle = "white";
    brush.font = "160px sans-serif";
    brush.fillText(text, 220, 480);
    return canvas.toDataURL("image/jpeg", 0.8).split(",")[1];
  };
  return [paint("#7a5230", "Sledge"), paint("#30587a", "Label")];
});
const photos = pictures.map((text, nth) => ({ name: `IMG_${nth}.jpg`, mimeType: "image/jpeg", buffer: Buffer.from(text, "base64") }));
await mia.goto(`${base}/home/add`);
await judge(mia, "add");
await mia.getByLabel("Or choose photos").setInputFiles(photos);
await mia.locator(".chosen canvas").nth(1).waitFor();
await judge(mia, "add with photos");
await press(mia, "Add");
await mia.waitForURL(/said=added/);
assert.match(await mia.getByRole("heading", { level: 1 }).innerText(), /^Photo of \d+ \w+ \d{4}, \d\d:\d\d$/);
await mia.waitForFunction(() => [...document.querySelectorAll(".pictures img")].every((picture) => picture.complete && picture.naturalWidth > 0));
await judge(mia, "item with photos");
const made = mia.url().split("?")[0];

// What is no photo, or too large, is refused beside what was typed; the good photo stays.
for (const [name, buffer, words] of [
  ["page.html", Buffer.from("<script>alert(1)</script>"), "is no photo"],
  ["sign.svg", Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"), "is no photo"],
  ["big.jpg", Buffer.concat([photos[0].buffer, Buffer.alloc(2 << 20)]), "is too large"],
]) {
  await mia.goto(`${base}/home/add`);
  await mia.getByLabel("Name").fill("Sledge");
  await mia.getByLabel("Or choose photos").setInputFiles([photos[0], { name, mimeType: "image/jpeg", buffer }]);
  await press(mia, "Add");
  await mia.getByRole("alert").filter({ hasText: words }).waitFor();
  assert.equal(await mia.getByLabel("Name").inputValue(), "Sledge");
  await mia.getByText("IMG_0.jpg").waitFor();
}
await judge(mia, "refused file");
await press(mia, "Add");
await mia.waitForURL(/said=added/);
assert.equal(await mia.locator(".pictures img").count(), 1);

// The server reads a photo. Without an accepted draft nothing is stored.
await mia.goto(`${base}/home/read`);
await judge(mia, "read");
await mia.getByLabel("Or choose photos or PDF").setInputFiles(photos[0]);
await press(mia, "Read");
await mia.waitForURL(/captures/);
await mia.getByRole("button", { name: "Discard" }).waitFor();
await mia.waitForFunction(() => !document.querySelector("[data-wait]"), null, { timeout: 90_000 });
await judge(mia, "drafts of a photo");
const job = mia.url();
await mia.goto(`${base}/home/captures`);
await judge(mia, "drafts");
await mia.goto(job);
await press(mia, "Discard");
await mia.getByText("Discarded").waitFor();

// A paper for an item.
await mia.goto(made);
await mia.getByRole("link", { name: "Add photos or papers" }).click();
await judge(mia, "papers");
await mia.getByLabel("What is it?").selectOption("receipt");
await mia.getByLabel("Photos or PDF").setInputFiles({ name: "bill.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.4 bill") });
await press(mia, "Add");
await mia.waitForURL(/said=files/);
await mia.getByRole("link", { name: /^bill/ }).click();
await judge(mia, "paper");
const [download] = await Promise.all([mia.waitForEvent("download"), mia.getByRole("link", { name: /^Download/ }).click()]);
assert.equal(download.suggestedFilename(), "bill.pdf");

// Without scripts: a tick and its undo, adding by name with a fault, an edit that meets another, photos.
const plain = await (await browser.newContext({ javaScriptEnabled: false, storageState: await mia.context().storageState() })).newPage();
await plain.setViewportSize(SIZES[0]);
await plain.goto(`${base}/home`);
await press(plain, "Done: Change the water filter");
await plain.getByText("The next one is due on").waitFor();
if (shots) await plain.screenshot({ path: `${shots}/ticked-375-light.png`, fullPage: true });
await press(plain, "Undo");
await plain.getByRole("button", { name: "Done: Change the water filter" }).first().waitFor();
await plain.getByRole("link", { name: "Add an item" }).click();
await plain.getByLabel("Quantity").fill("some");
await press(plain, "Add");
await plain.getByText("Name is required").waitFor();
assert.equal(await plain.getByLabel("Quantity").inputValue(), "some");
if (shots) await plain.screenshot({ path: `${shots}/faults-375-light.png`, fullPage: true });
await plain.getByLabel("Name").fill("Ladder");
await plain.getByLabel("Room").selectOption("Garage");
await plain.getByLabel("Quantity").fill("2");
await plain.getByLabel("Take a photo").setInputFiles(photos[0]);
await plain.getByLabel("Or choose photos").setInputFiles(photos[1]);
await press(plain, "Add");
await plain.getByText("Added to the home.").waitFor();
assert.equal(await plain.locator(".pictures img").count(), 2);
const ladder = plain.url().split("?")[0];
await plain.getByRole("link", { name: "Edit" }).click();
await api("PATCH", `/v1/inventory/${ladder.split("/").pop()}`, { name: "Long ladder", notes: "borrowed" });
await plain.getByLabel("Notes").fill("hangs on the wall");
await plain.getByLabel("Purchase price").fill("1.299,50 €");
await press(plain, "Save");
await plain.getByText("Nothing of yours is lost").waitFor();
assert.equal(await plain.getByLabel("Name").inputValue(), "Long ladder");
assert.equal(await plain.getByLabel("Notes").inputValue(), "hangs on the wall");
if (shots) await plain.screenshot({ path: `${shots}/meanwhile-375-light.png`, fullPage: true });
await press(plain, "Save");
await plain.getByText("1,299.50 EUR each, 2,599.00 EUR in all").waitFor();
await mia.goto(`${ladder}/edit`);
await judge(mia, "edit");

// By keyboard alone.
await mia.goto(`${base}/home`);
await mia.keyboard.press("Tab");
assert.equal(await mia.evaluate(() => document.activeElement.textContent), "Skip to the content");
await mia.keyboard.press("Enter");
await mia.keyboard.press("Tab");
await mia.keyboard.type("ladder");
await mia.keyboard.press("Enter");
await mia.getByRole("heading", { name: /Found/ }).waitFor();
await mia.getByRole("link", { name: /^Long ladder/ }).focus();
await mia.keyboard.press("Enter");
await mia.waitForURL(ladder);

await browser.close();
console.log("the phone passed");
