// The contents of the reference: the filter, and the way from the address of an entry to the page of the entry. Without this
// script the page shows everything, and the field stays hidden.
"use strict";

const field = document.querySelector("#words");
const found = document.querySelector("#found");
const entries = [...document.querySelectorAll(".entry")];
const words = new Map(entries.map((entry) => [entry, `${entry.id} ${entry.textContent}`.toLowerCase()]));

function apply() {
  const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const entry of entries) {
    entry.hidden = !wanted.every((word) => words.get(entry).includes(word));
    count += entry.hidden ? 0 : 1;
  }
  for (const group of document.querySelectorAll(".group")) {
    group.hidden = !group.querySelector(".entry:not([hidden])");
  }
  found.textContent = wanted.length > 0 ? `${count} found` : "";
}

/** Addresses of the time when the reference was one page, such as `/docs/reference#list_tasks`. */
function follow() {
  const target = document.getElementById(location.hash.slice(1));
  const link = target && target.closest(".entry, h2, h3");
  if (link) {
    location.replace(link.querySelector("a").pathname + location.hash);
  }
}

document.querySelector("#filter").hidden = false;
field.addEventListener("input", apply);
window.addEventListener("hashchange", follow);
follow();
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && event.target.tagName !== "INPUT" && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    field.focus();
  }
});
