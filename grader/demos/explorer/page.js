"use strict";
const START = JSON.parse(document.getElementById("data").textContent);
const LIVE = Boolean(START.key);
const $ = (id) => document.getElementById(id);
const state = { layer: 0, head: 0, after: 0, fed: 1, cheat: false, masked: START.first.masked, data: START.first.data, asking: 0 };

// Elements: text is always set as text, never as HTML, for words may be anything.
function element(name, attributes = {}, ...children) {
  const drawn = ["svg", "rect", "text", "title", "g"].includes(name);
  const made = drawn ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.map((child) => (typeof child === "number" ? String(child) : child)));
  return made;
}
const show = (id, ...children) => $(id).replaceChildren(...children);
const percent = (p) => (p === null ? "not a number" : p >= 0.9995 ? "100 %" : (100 * p).toPrecision(p < 0.001 ? 1 : 3) + " %");
const number = (x) => (x === null ? "nan" : x === 0 ? "0" : Math.abs(x) < 0.001 ? x.toExponential(0) : x.toFixed(3));
const place = (words, i) => `“${words[i]}” (position ${i})`;

function table(corner, across, down, cells, mark = () => "") {
  const head = element("tr", {}, element("th", { scope: "col" }, corner), ...across.map((word) => element("th", { scope: "col" }, word)));
  const rows = cells.map((row, i) => element("tr", {}, element("th", { scope: "row" }, down[i]),
    ...row.map((cell, j) => element("td", mark(i, j) ? { class: mark(i, j) } : {}, (mark(i, j) ? "✗ " : "") + number(cell)))));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}

// A square for every pair of words; draw(i, j) fills it and returns what a reader is told of it.
function grid(words, label, draw) {
  const unit = 26, left = 82, top = 66, size = words.length * unit;
  const svg = element("svg", { role: "img", "aria-label": label, width: left + size + 4, height: top + size + 4, viewBox: `0 0 ${left + size + 4} ${top + size + 4}` });
  svg.style.minWidth = `${0.75 * (left + size + 4)}px`; // on a narrow screen it shrinks as far as its words can be read
  words.forEach((word, j) => {
    const x = left + (j + 0.65) * unit;
    svg.append(element("text", { x, y: top - 6, transform: `rotate(-55 ${x} ${top - 6})` }, word));
    svg.append(element("text", { x: left - 6, y: top + (j + 0.7) * unit, "text-anchor": "end" }, word));
  });
  words.forEach((_, i) => words.forEach((__, j) => {
    const at = { x: left + j * unit + 1, y: top + i * unit + 1, width: unit - 2, height: unit - 2 };
    const cell = element("g", {}, element("rect", { class: "frame", ...at }));
    const note = draw(i, j, at, cell);
    cell.append(element("title", {}, note));
    svg.append(cell);
  }));
  return svg;
}

function thumbnail(weights) {
  const t = weights.length;
  const svg = element("svg", { "aria-hidden": "true", viewBox: `0 0 ${t} ${t}` }, element("rect", { class: "frame", x: 0, y: 0, width: t, height: t, "stroke-width": 0.05 }));
  weights.forEach((row, i) => row.forEach((w, j) => w > 0.01 && svg.append(element("rect", { class: "heat", x: j, y: i, width: 1, height: 1, "fill-opacity": Math.min(1, w) }))));
  return svg;
}

function drawHeads() {
  const { data, layer, head } = state;
  const buttons = data.weights.flatMap((heads, l) => heads.map((weights, h) => {
    const chosen = l === layer && h === head;
    const button = element("button", { type: "button", role: "radio", "aria-checked": chosen, tabindex: chosen ? 0 : -1, "aria-label": `layer ${l}, head ${h}` }, thumbnail(weights), `${l}.${h}`);
    button.addEventListener("click", () => chooseHead(l, h));
    return button;
  }));
  $("heads").style.setProperty("--heads", data.weights[0].length); // a row for each layer
  show("heads", ...buttons);
}

function chooseHead(layer, head, focus = false) {
  Object.assign(state, { layer, head });
  drawHeads();
  drawAttention();
  if (focus) document.querySelector("#heads [aria-checked=true]").focus();
}

function drawAttention() {
  const { data, layer, head, masked } = state, words = data.words, weights = data.weights[layer][head];
  $("which").textContent = `Layer ${layer}, head ${head}, ${masked[layer] ? "with the mask" : "without the mask"}`;
  show("attention", grid(words, `Attention weights of layer ${layer}, head ${head}. The same is in the table below, in numbers.`, (i, j, at, cell) => {
    const w = weights[i][j];
    if (w > 0) cell.append(element("rect", { class: "heat", ...at, "fill-opacity": Math.min(1, w) }));
    if (w > 0 && j > i) cell.append(element("text", { class: "bad", x: at.x + 12, y: at.y + 16 }, "✗"));
    return `${place(words, i)} takes ${percent(w)} from ${place(words, j)}`;
  }));
  show("attention-numbers", table("", words, words, weights, (i, j) => (j > i && weights[i][j] > 0 ? "leak" : "")));
}

function drawNext() {
  const { data } = state;
  const after = (state.after = Math.min(state.after, data.words.length - 1));
  Object.assign($("after"), { max: data.words.length - 1, value: after });
  $("after").setAttribute("aria-valuetext", place(data.words, after));
  $("so-far").textContent = data.words.slice(0, after + 1).join(" ") + " …";
  const rows = data.next[after].map(([word, p]) => {
    const bar = element("span", { class: "bar" });
    bar.style.width = `${100 * (p ?? 0)}%`;
    return element("tr", {}, element("th", { scope: "row" }, word), element("td", {}, percent(p)), element("td", { "aria-hidden": "true" }, bar));
  });
  show("next", element("table", {}, element("thead", {}, element("tr", {}, ...["next word", "chance", ""].map((text) => element("th", { scope: "col" }, text)))), element("tbody", {}, ...rows)));
  $("loss").textContent = data.loss === null ? "" : `Loss on your words: ${data.loss}.` + (data.leaks.length ? " It peeks, so this loss is worth nothing." : "");
  $("written").textContent = data.written.problem ?? `It writes on, and there every word is the newest: ${data.words.join(" ")} … ${data.written.words.join(" ")}`;
}

function drawLeaks() {
  const { data } = state, words = data.words;
  const leaks = new Set(data.leaks.map(([i, j]) => `${i},${j}`));
  const first = data.leaks[0];
  $("leaks-said").textContent = first ? `It peeks in ${data.leaks.length} places: the prediction after ${place(words, first[0])} changes when ${place(words, first[1])} is replaced.` : "No prediction depends on a later word.";
  show("leaks", grid(words, "Leak map. " + $("leaks-said").textContent, (i, j, at, cell) => {
    const leak = leaks.has(`${i},${j}`), moved = data.moved[i][j] === null || data.moved[i][j] > 1e-9;
    if (moved) cell.append(element("rect", { class: leak ? "leak" : "may", ...at }), element("text", { class: "on", x: at.x + 12, y: at.y + 16 }, leak ? "✗" : "●"));
    return `${place(words, i)} ${moved ? "moves" : "does not move"} with ${place(words, j)}${leak ? ", and must not" : ""}`;
  }));
  show("leaks-numbers", table("", words, words, data.moved, (i, j) => (leaks.has(`${i},${j}`) ? "leak" : "")));
}

function drawCache() {
  const { data } = state, words = data.words, cache = data.cache;
  const fed = (state.fed = Math.min(state.fed, words.length));
  Object.assign($("fed"), { max: words.length, value: fed });
  if (cache.problem) {
    $("fed-said").textContent = "";
    show("cache", element("p", {}, cache.problem));
    show("cache-numbers");
    return;
  }
  $("fed-said").textContent = `${fed} of ${words.length}`;
  const chips = words.map((word, i) => element("span", { class: "chip" + (i < fed ? " held" : "") + (i === fed - 1 ? " now" : "") }, word));
  const all = state.masked.every(Boolean);
  const apart = cache.apart[fed - 1];
  const same = !all ? "Writing always looks back only, so compare it with all masks on." : apart !== null && apart < 1e-6 ? "The logits are those without a cache." : `The logits differ from those without a cache by ${number(apart)}.`;
  const grown = fed > 1 ? cache.held[fed - 1] - cache.held[fed - 2] : cache.held[0];
  show("cache", element("div", { class: "chips", role: "img", "aria-label": `The keys and values of ${fed} words are kept` }, ...chips),
    element("p", {}, `“${words[fed - 1]}” is read alone. Your cache now holds ${cache.held[fed - 1].toLocaleString("en")} numbers, ${grown.toLocaleString("en")} of them new. ${same}`));
  show("cache-numbers", table("", ["numbers held", "logits apart"], words, words.map((_, i) => [cache.held[i], cache.apart[i]])));
}

function drawAll() {
  const { data } = state;
  const lent = data.lent.length ? `Not written yet, so the solutions run: step ${data.lent.join(", ")}. ` : "Every step is there. ";
  $("whose").textContent = `${START.code}. ${lent}`;
  state.layer = Math.min(state.layer, data.weights.length - 1);
  state.head = Math.min(state.head, data.weights[0].length - 1);
  drawHeads(); drawAttention(); drawNext(); drawLeaks(); drawCache();
}

function say(problem) {
  $("problem").hidden = !problem;
  $("problem").textContent = problem || "";
  $("main").hidden = !state.data.words; // nothing could be asked yet
  $("main").style.opacity = problem ? 0.4 : 1;
}

const setting = () => JSON.stringify([state.masked, state.cheat]);
async function ask() {
  const mine = ++state.asking;
  let data;
  $("status").textContent = "asking your code …";
  if (LIVE) {
    try {
      const reply = await fetch(`/ask?key=${START.key}`, { method: "POST", body: JSON.stringify({ prompt: $("prompt").value, masked: state.masked, cheat: state.cheat }) });
      data = await reply.json();
    } catch {
      data = { problem: "The explorer has ended: start it again, and reload this page." };
    }
  } else {
    data = START.sets[setting()];
  }
  if (mine !== state.asking) return; // a later question is under way
  say(data.problem);
  $("status").textContent = data.problem ? "" : "up to date";
  if (data.problem) return;
  state.data = data;
  drawAll();
}

async function follow(version) {
  let next = version;
  try {
    next = (await (await fetch(`/version?key=${START.key}`)).json()).version;
  } catch { /* the explorer has ended, or will answer again */ }
  if (next !== version) await ask();
  setTimeout(follow, 150, next);
}

// The head that tells most at first: it takes most from where the likeliest next word was read before.
function chooseFirstHead() {
  const { words, next, weights } = state.data, likeliest = next.at(-1)[0][0];
  let most = 0;
  weights.forEach((heads, layer) => heads.forEach((rows, head) => words.forEach((word, j) => {
    if (word !== likeliest || !(rows.at(-1)[j] > most)) return;
    most = rows.at(-1)[j];
    Object.assign(state, { layer, head });
  })));
}

function setUp() {
  $("prompt").value = START.prompt;
  $("prompt").readOnly = !LIVE;
  $("fixed").hidden = LIVE;
  $("show").hidden = $("words").hidden = !LIVE;
  show("known", ...START.known.map((word) => {
    const button = element("button", { type: "button" }, word);
    button.addEventListener("click", () => { $("prompt").value = `${$("prompt").value.trim()} ${word}`.trim(); ask(); });
    return button;
  }));
  [["with the mask", false], ["without it", true]].forEach(([text, cheat]) => {
    const input = element("input", { type: "radio", name: "trained" });
    input.checked = cheat === state.cheat;
    input.addEventListener("change", () => { state.cheat = cheat; ask(); });
    $("trained").append(element("label", {}, input, " " + text));
  });
  state.masked.forEach((on, layer) => {
    const input = element("input", { type: "checkbox" });
    input.checked = on;
    input.addEventListener("change", () => { state.masked[layer] = input.checked; ask(); });
    $("masks").append(element("label", {}, input, ` layer ${layer}`));
  });
  $("form").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  $("after").addEventListener("input", () => { state.after = Number($("after").value); drawNext(); });
  $("fed").addEventListener("input", () => { state.fed = Number($("fed").value); drawCache(); });
  $("heads").addEventListener("keydown", (event) => {
    const heads = state.data.weights[0].length, count = state.data.weights.length * heads;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (state.layer * heads + state.head + step + count) % count;
    chooseHead(Math.floor(next / heads), next % heads, true);
  });
  if (START.first.problem) say(START.first.problem); else { state.after = state.data.words.length - 1; chooseFirstHead(); drawAll(); }
  if (LIVE) follow(START.version);
}
setUp();
