// The filter of the reference. Without this script the page shows everything, and the field stays hidden.
"use strict";

const field = document.querySelector("#words");
const found = document.querySelector("#found");
const sections = [...document.querySelectorAll(".operation, .schema")];
const words = new Map(sections.map((section) => {
  const heading = section.querySelector("h3");
  const route = section.querySelector(".route");
  return [section, `${heading.id} ${heading.textContent} ${route ? route.textContent : ""}`.toLowerCase()];
}));

function apply() {
  const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const section of sections) {
    section.hidden = !wanted.every((word) => words.get(section).includes(word));
    count += section.hidden ? 0 : 1;
  }
  for (const group of document.querySelectorAll(".group")) {
    group.hidden = !group.querySelector(".operation:not([hidden])");
  }
  for (const link of document.querySelectorAll(".contents li a")) {
    const target = document.getElementById(link.hash.slice(1));
    link.parentElement.hidden = target.closest(".operation").hidden;
  }
  found.textContent = wanted.length > 0 ? `${count} found` : "";
}

document.querySelector("#filter").hidden = false;
field.addEventListener("input", apply);
// A link to a hidden section shows everything again.
window.addEventListener("hashchange", () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target && target.closest("[hidden]")) {
    field.value = "";
    apply();
    target.scrollIntoView();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && event.target.tagName !== "INPUT" && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    field.focus();
  }
});
