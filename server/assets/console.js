// Copies a text to the clipboard, and renews the parts of a page that change. Every page works without this script.
"use strict";
for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!navigator.clipboard) continue; // Browsers offer it over TLS and on this machine only.
  button.hidden = false;
  button.addEventListener("click", async () => {
    const words = button.textContent;
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select the text and copy it";
    }
    setTimeout(() => { button.textContent = words; }, 2000);
  });
}
const RENEW_EVERY = 2000; // milliseconds
for (const part of document.querySelectorAll("[data-live]")) {
  const pause = document.querySelector(`[data-pause="${part.id}"]`);
  let isPaused = false;
  let shown = "";
  pause.hidden = false;
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? "Go on" : "Pause";
  });
  const renew = async () => {
    // New rows must not take the focus or a selected text away.
    const isInUse = part.contains(document.activeElement) || (getSelection().type === "Range" && getSelection().containsNode(part, true));
    if (!isPaused && !isInUse && !document.hidden) {
      try {
        const response = await fetch(part.dataset.live);
        if (response.redirected) return location.reload(); // Signed out.
        const text = response.ok ? await response.text() : shown;
        if (text !== shown) part.innerHTML = shown = text; // The server has escaped all texts.
      } catch {
        // The server is away; the next round tries again.
      }
    }
    setTimeout(renew, RENEW_EVERY);
  };
  setTimeout(renew, RENEW_EVERY);
}
