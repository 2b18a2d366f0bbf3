"use strict";
// Searching and sorting the table of all students; without this script it is there all the same.
// Only so many rows are shown at once: laying out ten thousand takes seconds.
const ROWS = 500;
const table = document.getElementById("students");
const headings = Array.from(table.tHead.rows[0].cells);
const body = table.tBodies[0];
// Without accents and capitals, so that nobody has to type them.
const plain = text => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const texts = new Map(Array.from(body.rows, row => [row, plain(row.textContent)]));
const collator = new Intl.Collator();
const box = document.getElementById("search");
const found = document.getElementById("found");
const more = document.getElementById("more");
let rows = Array.from(texts.keys());
let limit = ROWS;

function show() {
  const words = plain(box.value).split(/\s+/).filter(word => word);
  const matching = rows.filter(row => words.every(word => texts.get(row).includes(word)));
  const shown = matching.slice(0, limit);
  for (const row of rows) row.hidden = true;
  for (const row of shown) row.hidden = false;
  body.prepend(...shown);
  more.hidden = shown.length === matching.length;
  more.textContent = `show all ${matching.length}`;
  const said = more.hidden ? "" : `, the first ${shown.length} of them shown`;
  found.textContent = words.length || said ? `${matching.length} found${said}` : "";
  if (words.length) document.getElementById("all").open = true;
}

function sort(column) {
  const heading = headings[column];
  const numbers = heading.classList.contains("number");
  const down = heading.getAttribute("aria-sort") === "ascending";
  for (const other of headings) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = row => row.cells[column].textContent.trim();
  const whole = rows.map(row => [numbers ? parseFloat(key(row)) : key(row), row]);
  const missing = entry => numbers && isNaN(entry[0]);
  whole.sort((a, b) => {
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    const order = numbers ? a[0] - b[0] : collator.compare(a[0], b[0]);
    return down ? -order : order;
  });
  rows = whole.map(entry => entry[1]);
  show();
}

function showAll() {
  limit = Infinity;
  show();
}

headings.forEach((heading, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...heading.childNodes);
  heading.append(button);
  button.addEventListener("click", () => sort(column));
});
let waiting = 0;
box.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(show, 120);
});
more.addEventListener("click", showAll);
window.addEventListener("beforeprint", showAll);
document.getElementById("tools").hidden = false;
show();
// `serve` has pages of everybody's work; from a disk, their links would lead nowhere.
document.body.classList.toggle("is-served", location.protocol.startsWith("http"));
