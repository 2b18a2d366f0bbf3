"use strict";
// Searching and sorting the table of all students; without this script it is there all the same.
const table = document.getElementById("students");
const body = table.tBodies[0];
const rows = Array.from(body.rows);
const texts = rows.map(row => row.textContent.toLowerCase());
const box = document.getElementById("search");
const found = document.getElementById("found");

function search() {
  const words = box.value.toLowerCase().split(/\s+/).filter(word => word);
  let count = 0;
  rows.forEach((row, i) => {
    row.hidden = !words.every(word => texts[i].includes(word));
    count += row.hidden ? 0 : 1;
  });
  found.textContent = words.length ? `${count} of ${rows.length} shown` : "";
  if (words.length) document.getElementById("all").open = true;
}

function key(row, column, numbers) {
  const text = row.cells[column].textContent.trim();
  return numbers ? parseFloat(text) : text;
}

function compare(a, b, numbers) {
  if (!numbers) return a.localeCompare(b);
  if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
  return a - b;
}

function sort(heading, column) {
  const numbers = heading.classList.contains("number");
  const down = heading.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const keyed = rows.map((row, i) => [key(row, column, numbers), i, row]);
  keyed.sort((a, b) => {
    const missing = isNaN(a[0]) || isNaN(b[0]);
    return (down && !(numbers && missing) ? -1 : 1) * compare(a[0], b[0], numbers) || a[1] - b[1];
  });
  const whole = document.createDocumentFragment();
  for (const entry of keyed) whole.append(entry[2]);
  body.append(whole);
}

Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...heading.childNodes);
  heading.append(button);
  button.addEventListener("click", () => sort(heading, column));
});
let waiting = 0;
box.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, 120);
});
document.getElementById("tools").hidden = false;
if (box.value) search();
