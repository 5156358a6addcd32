// Sends a form once. Every page works without this script.
"use strict";
for (const form of document.querySelectorAll("form[data-once]")) {
  form.addEventListener("submit", () => {
    // After the browser has read the values, which leaves disabled buttons out.
    setTimeout(() => { for (const button of form.querySelectorAll("button")) button.disabled = true; });
  });
}
// A page that the browser shows again from its memory can be sent again.
addEventListener("pageshow", () => { for (const button of document.querySelectorAll("form[data-once] button")) button.disabled = false; });
