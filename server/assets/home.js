// Shows chosen photos, and how far a form with files has come. Every page works without this script.
"use strict";
function setButtons(form, isDisabled) {
  for (const button of form.querySelectorAll("button")) button.disabled = isDisabled;
}
async function showPhotos(input, list) {
  list.replaceChildren();
  for (const file of input.files) {
    const item = document.createElement("li");
    list.append(item);
    try {
      const picture = await createImageBitmap(file, { resizeWidth: 176, resizeQuality: "medium" });
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [picture.width, picture.height];
      canvas.getContext("2d").drawImage(picture, 0, 0);
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", file.name);
      item.append(canvas);
    } catch {
      item.textContent = file.name; // No picture, or one that this browser cannot read.
    }
  }
}
function send(form) {
  const bar = document.createElement("progress");
  bar.setAttribute("aria-label", "Sent");
  bar.max = 1;
  bar.value = 0;
  form.append(bar);
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.upload.addEventListener("progress", (event) => {
    if (event.lengthComputable) bar.value = event.loaded / event.total;
  });
  request.addEventListener("load", () => {
    if (request.responseURL !== form.action) return location.assign(request.responseURL);
    // The form again, with what is wrong.
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    document.title = page.title;
    document.querySelector("main").replaceWith(page.querySelector("main"));
    setUp();
    scrollTo(0, 0);
    document.querySelector("main").focus();
  });
  request.addEventListener("error", () => {
    bar.remove();
    setButtons(form, false);
    const fault = document.createElement("p");
    fault.className = "fault";
    fault.setAttribute("role", "alert");
    fault.textContent = "The form did not reach the server. Send it again when you have a connection.";
    form.prepend(fault);
  });
  request.send(new FormData(form));
}
// Opens the evidence to which a box in a picture leads.
function reveal() {
  document.getElementById(location.hash.slice(1))?.closest("details")?.setAttribute("open", "");
}
// Loads a page again while its files are being read.
async function watch() {
  while (document.querySelector("[data-wait]")) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    try {
      const answer = await fetch(location.href);
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (page.querySelector("[data-wait]") && page.title === document.title) continue;
      document.querySelector("main").replaceWith(page.querySelector("main"));
      setUp();
    } catch {} // The server cannot be reached now.
  }
}
function setUp() {
  for (const input of document.querySelectorAll("input[data-photos]")) {
    const list = document.createElement("ul");
    list.className = "chosen";
    input.after(list);
    input.addEventListener("change", () => showPhotos(input, list));
  }
  for (const form of document.querySelectorAll("form[data-once]")) {
    form.addEventListener("submit", (event) => {
      const hasFiles = form.enctype === "multipart/form-data";
      if (hasFiles) event.preventDefault();
      if (hasFiles) send(form);
      // After the browser has read the values, which leaves disabled buttons out.
      setTimeout(() => setButtons(form, true));
    });
  }
}
setUp();
reveal();
watch();
addEventListener("hashchange", reveal);
// A page that the browser shows again from its memory can be sent again.
addEventListener("pageshow", () => document.querySelectorAll("form[data-once]").forEach((form) => setButtons(form, false)));
