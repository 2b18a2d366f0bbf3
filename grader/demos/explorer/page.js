"use strict";
const START = JSON.parse(document.getElementById("data").textContent);
const LIVE = Boolean(START.key);
const $ = (id) => document.getElementById(id);
const state = {
  model: START.first.model, masked: START.first.masked, data: START.first.data, cheat: false,
  layer: 0, head: 0, at: 0, key: 0, feature: 0, fed: 1, asking: 0, filling: 0,
};
const model = () => START.models.find((one) => one.name === state.model);
const calm = matchMedia("(prefers-reduced-motion: reduce)");

// Elements: text is always set as text, never as HTML, for words may be anything.
const DRAWN = ["svg", "rect", "text", "tspan", "title", "g", "path", "circle"];
function element(name, attributes = {}, ...children) {
  const made = DRAWN.includes(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.map((child) => (typeof child === "number" ? String(child) : child)));
  return made;
}
const show = (id, ...children) => {
  const there = $(id).childNodes; // what is already in its place stays, and needs no new layout
  if (there.length !== children.length || children.some((child, i) => child !== there[i])) $(id).replaceChildren(...children);
};
const percent = (p) => {
  if (!Number.isFinite(p)) return "not a number";
  if (p > 0 && p < 0.0001) return "less than 0.01 %";
  return `${p === 0 || p > 0.9995 ? Math.round(100 * p) : (100 * p).toFixed(p < 0.01 ? 2 : 1)} %`;
};
function number(x, digits = 3) {
  const value = Number(x);
  if (!Number.isFinite(value)) return value === -Infinity ? "−∞" : value === Infinity ? "∞" : "not a number";
  const text = value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits ? value.toExponential(0) : value.toFixed(digits);
  return (value === 0 ? "0" : text).replace("-", "−");
}
const word = (i) => `“${state.data.words[i]}” (position ${i})`;
const labels = () => state.data.words.map((text, i) => `${i} ${text}`); // a text may have one word twice
const pen = document.createElement("canvas").getContext("2d");
pen.font = "11px system-ui, sans-serif"; // that of svg text in the stylesheet
const long = (text) => pen.measureText(text).width;
const longest = (texts) => Math.max(0, ...texts.map(long));
const own = (name) => { // the array of the chosen layer and head; null if no call had it
  const array = state.data[name];
  return array && (name === "x" ? array[state.layer] : array[state.layer][state.head]);
};
const ahead = (w) => Math.abs(w) > 1e-9; // what is not a number says nothing about the future

function table(corner, across, down, cells, accuse = () => "", digits = 3) {
  const head = element("tr", {}, ...[corner, ...across].map((text) => element("th", { scope: "col" }, text)));
  const rows = cells.map((row, i) => element("tr", {}, element("th", { scope: "row" }, down[i]),
    ...row.map((cell, j) => { const sign = accuse(i, j, Number(cell)); return element("td", sign ? { class: "leak" } : {}, `${sign} ${number(cell, digits)}`.trim()); })));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}

// A matrix as a picture. Each number is a cell in one of eight steps of its scale: blue above 0, brown
// below, and 0 is empty. A stroke is −∞. ✗ on red is a number where there must be none, and ? in a
// dashed frame is missing. met: what a cell means that has no sign, instead of a scale. depth: the red
// has steps, too.
// It is drawn once; then only the chosen row, column and cell move.
const kept = new WeakMap(); // the pictures by their numbers
function matrix(given) {
  const { rows, down = [], label, cell, chosen = {} } = given, key = `${label} ${cell} ${down}`;
  if (kept.get(rows)?.key !== key) kept.set(rows, { key, ...drawMatrix(given) });
  const { svg, frames, names, left, top } = kept.get(rows), [w, h] = cell;
  const high = rows.length * h, wide = rows[0].length * w;
  names.forEach((name, i) => {
    name.toggleAttribute("hidden", h <= 9 && i !== chosen.row);
    name.setAttribute("class", i === chosen.row ? "end strong" : "end");
  });
  const frame = (name, x, y, width, height) => element("rect", { class: name, x: left + x, y: top + y, width, height });
  frames.replaceChildren(
    ...(chosen.row === undefined ? [] : [frame("row", 0, chosen.row * h, wide, h)]),
    ...(chosen.column === undefined ? [] : [frame("cell", chosen.column * w, (chosen.row ?? 0) * h, w, h)]),
    ...(chosen.whole === undefined ? [] : [frame("row", chosen.whole * w, 0, w, high)]));
  return svg;
}

const KINDS = { "✗": "leak", "?": "gap", "~": "unknown" };
const MEANING = { hidden: "╱ hidden", leak: "✗ must not be there", gap: "? hidden, and must not be", unknown: "~ not a number" };
const redness = (share) => 0.15 + 0.85 * share; // even a small leak is red
function drawMatrix({ label, rows, down = [], across = [], cell, most, axes, met = "", depth = false, accuse = () => "" }) {
  const [w, h] = cell, high = rows.length, wide = rows[0].length;
  const turn = w < 16 ? 90 : 55, [rise, run] = [Math.sin, Math.cos].map((f) => f((turn * Math.PI) / 180)); // small cells have their names on end
  const left = down.length ? longest(down) + 8 : 2, top = across.length ? longest(across) * rise + 12 : 4;
  const finite = rows.flat().map(Number).filter(Number.isFinite).map(Math.abs);
  const peak = most ?? Math.max(1e-12, ...finite), paths = {}, signs = [];
  rows.forEach((row, i) => row.forEach((given, j) => {
    const x = left + j * w, y = top + i * h, value = Number(given);
    const add = (kind, d) => { paths[kind] = (paths[kind] ?? "") + d; };
    const sign = accuse(i, j, value) || (Number.isNaN(value) ? "~" : ""), step = Math.min(8, Math.ceil((8 * Math.abs(value)) / peak));
    const box = `M${x} ${y}h${w}v${h}h${-w}z`;
    if (value === -Infinity) add("hidden", `M${x + 2} ${y + h - 2}l${w - 4} ${4 - h}`);
    else if (!sign && step) add(`${value < 0 ? "less" : "more"} ${step}`, box);
    if (!sign) return;
    add(depth && sign === "✗" ? `leak ${step}` : KINDS[sign], box);
    signs.push(element("text", { class: `sign ${KINDS[sign]}${depth && step < 6 ? " faint" : ""}`, x: x + w / 2, y: y + h / 2 + 4 }, sign));
  }));
  const width = left + Math.max(wide * w + 2, ...across.map((text, j) => (j + 0.5) * w + long(text) * run + 8)), bottom = top + high * h;
  const signed = rows.flat().some((x) => Number(x) < 0 && Number(x) !== -Infinity), from = met ? 4 : signed ? -4 : 0, swatch = wide * w < 100 ? 4 : 9;
  const found = Object.entries(MEANING).filter(([kind]) => Object.keys(paths).some((name) => name.startsWith(kind))).map(([, meaning]) => meaning);
  const peakText = number(peak, 2), said = met ? "" : signed ? `−${peakText}` : "0", legend = [met || peakText, ...found].join(" · ");
  const reds = depth && found.includes(MEANING.leak) ? [1, 2, 3, 4].map((step) => 0.25 * step) : [];
  const scale = 6 + long(said), end = scale + (5 - from) * swatch + 4, red = end + long(legend) + 6;
  const total = Math.max(width, long(axes) + 6, red + reds.length * swatch + 2);
  const size = { width: total, height: bottom + 40, viewBox: `0 0 ${total} ${bottom + 40}` };
  const svg = element("svg", { role: "img", "aria-label": label, ...size }, element("title", {}, label),
    element("rect", { class: "frame", x: left, y: top, width: wide * w, height: high * h }));
  for (const [kind, d] of Object.entries(paths)) {
    const [name, step] = kind.split(" ");
    svg.append(element("path", { class: name, d, ...(step ? { "fill-opacity": name === "leak" ? redness(step / 8) : step / 8 } : {}) }));
  }
  if (w > 9) svg.append(element("path", { class: "grid", d: lines(left, top, w, h, wide, high) }));
  svg.append(...signs);
  across.forEach((text, j) => { const x = left + (j + 0.5) * w + 3; svg.append(element("text", { x, y: top - 5, transform: `rotate(${-turn} ${x} ${top - 5})` }, text)); });
  const names = down.map((text, i) => element("text", { x: left - 4, y: top + (i + 0.5) * h + 4 }, text)), frames = element("g");
  svg.append(...names, frames);
  svg.append(element("text", { class: "quiet", x: 2, y: bottom + 16 }, axes));
  svg.append(element("text", { class: "quiet", x: 2, y: bottom + 33 }, said));
  for (let step = from; step <= 4; step++) {
    const place = { x: scale + (step - from) * swatch, y: bottom + 24, width: swatch, height: 9 };
    svg.append(element("rect", { class: "frame", ...place }), element("rect", { class: step < 0 ? "less" : "more", ...place, "fill-opacity": Math.abs(step) / 4 }));
  }
  svg.append(element("text", { class: "quiet", x: end, y: bottom + 33 }, legend));
  reds.forEach((share, i) => svg.append(element("rect", { class: "leak", x: red + i * swatch, y: bottom + 24, width: swatch, height: 9, "fill-opacity": redness(share) })));
  svg.place = (event) => { // which cell is under the pointer
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const j = Math.floor((at.x - left) / w), i = Math.floor((at.y - top) / h);
    return i >= 0 && i < high && j >= 0 && j < wide ? [i, j] : null;
  };
  return { svg, frames, names, left, top };
}
function lines(left, top, w, h, wide, high) {
  let d = "";
  for (let j = 1; j < wide; j++) d += `M${left + j * w} ${top}v${high * h}`;
  for (let i = 1; i < high; i++) d += `M${left} ${top + i * h}h${wide * w}`;
  return d;
}
const square = () => { const side = Math.max(12, Math.min(26, 290 / state.data.words.length)); return [side, side]; };
const strip = (wide, room) => [Math.min(room / wide, 24), Math.min(14, (wide > 16 ? 84 : 170) / state.data.words.length)];

// The stylesheet gives a picture its colours. A file takes them along; drawings of one picture stand
// side by side in it.
function save(drawings, name) {
  let x = 0;
  const copies = drawings.map((svg) => {
    const copy = svg.cloneNode(true), all = [svg, ...svg.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((one, i) => {
      const style = getComputedStyle(all[i]);
      for (const key of ["display", "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "font-size", "font-family", "font-weight", "text-anchor"])
        one.style.setProperty(key, style.getPropertyValue(key));
    });
    copy.setAttribute("x", x);
    x += Number(svg.getAttribute("width")) + 12;
    return copy;
  });
  const height = Math.max(...drawings.map((svg) => Number(svg.getAttribute("height"))));
  const whole = element("svg", { xmlns: "http://www.w3.org/2000/svg", width: x, height, viewBox: `0 0 ${x} ${height}` }, ...copies);
  whole.style.background = getComputedStyle(document.body).backgroundColor;
  const link = element("a", { href: URL.createObjectURL(new Blob([whole.outerHTML], { type: "image/svg+xml" })), download: `${name}.svg` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000); // the browser may still be reading it
}

// What every picture has below it: a file to save, and its numbers as a table.
function tools(id, makeTable) {
  const details = element("details", { class: "numbers" }, element("summary", {}, "Numbers"), element("div", { class: "wide", tabindex: 0, role: "group", "aria-label": "The same in numbers" }));
  details.fill = () => details.open && details.lastChild.replaceChildren(...[makeTable()].flat());
  details.addEventListener("toggle", details.fill);
  const button = element("button", { type: "button" }, "Save as SVG");
  button.addEventListener("click", () => save([...$(`${id}-picture`).querySelectorAll("svg")], id));
  return element("div", { class: "tools" }, button, details);
}

// In a picture of pairs, a click or an arrow key chooses the pair.
function choosePairs(picture) {
  picture.tabIndex = 0;
  picture.setAttribute("role", "group");
  picture.addEventListener("click", (event) => {
    const pair = event.target.closest("svg")?.place?.(event);
    if (pair) choose({ at: pair[0], key: pair[1] });
  });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const last = state.data.words.length - 1, within = (x) => Math.max(0, Math.min(last, x));
    choose({ at: within(state.at + step[0]), key: within(state.key + step[1]) });
  });
}

// What is odd in a row of weights, with its sign; "" if they sum to 1.
function oddOf(row) {
  const total = sum(row);
  if (Number.isNaN(total)) return "~";
  return Math.abs(total - 1) < 0.01 ? "" : "?";
}
function sayOdd(rows) {
  const i = rows.findIndex(oddOf), total = i < 0 ? 1 : sum(rows[i]);
  if (i < 0) return "";
  if (Number.isNaN(total)) return `~ The weights of ${word(i)} are not numbers (NaN). Is its whole row of scores hidden, or infinite?`;
  return total === 0 ? `? ${word(i)} may look at nothing: its row has no weights.` : `? The weights of ${word(i)} sum to ${number(total)}, not to 1.`;
}

// The words, and at which ones the chosen one looks. Arrows from the right come from the future.
function drawHero() {
  const { words } = state.data, weights = own("weights"), t = words.length, at = state.at;
  const name = state.model === "decoder" ? `layer ${state.layer}, head ${state.head}` : "one layer, one head";
  show("hero-name", `Where ${word(at)} looks `, element("small", {}, `${name}, ${state.masked[state.layer] ? "with the mask" : "without its mask"}`));
  const isPeeking = (row, i) => row.some((w, j) => j > i && ahead(w)), names = labels();
  const lookers = names.map((text, i) => `${text} ${weights ? (isPeeking(weights[i], i) ? "✗" : oddOf(weights[i])) : ""}`.trim());
  const shares = words.map((_, j) => {
    const w = weights ? Number(weights[at][j]) : 0, sign = j > at && ahead(w) ? "✗ " : "";
    return w > 0.004 ? sign + percent(w) : sign;
  });
  // Words that have no room side by side stand on end, each with its share below it.
  const width = Math.max(300, $("hero").clientWidth - 26), onEnd = width / t < 1.1 * longest([...lookers, ...names, ...shares]) + 10;
  const up = 1.1 * longest(lookers), down = 1.1 * longest(names.map((text, j) => `${text} ${shares[j]}`)) + 6;
  const unit = width / t, head = (onEnd ? up : 14) + 22, foot = head + (weights ? Math.min(170, 90 + unit) : 24), height = foot + (onEnd ? down : 30) + 30;
  const svg = element("svg", { role: "img", width, height, viewBox: `0 0 ${width} ${height}` });
  const x = (i) => (i + 0.5) * unit, top = head + 8, start = foot - 6;
  const line = (i, j, w) => element("path", { class: j > i ? "other peeks" : "other", "stroke-width": Math.max(1, 3 * w), d: `M${x(j)} ${start}L${x(i)} ${top}` });
  const arrow = (i, j, w) => { // its tip touches the dot of the word that looks
    const kind = j > i ? "peeks" : "", thick = Math.max(1, 9 * w), tip = 6 + 1.5 * thick, half = 3 + 0.7 * thick;
    const far = Math.hypot(x(i) - x(j), top - start), [u, v] = [(x(i) - x(j)) / far, (top - start) / far];
    const point = (back, side) => `${x(i) - u * back - v * side} ${top - v * back + u * side}`;
    return [element("path", { class: `arrow ${kind}`, "stroke-width": thick, d: `M${x(j)} ${start}L${point(3 + tip, 0)}` }),
      element("path", { class: `tip ${kind}`, d: `M${point(3, 0)}L${point(3 + tip, half)}L${point(3 + tip, -half)}z` })];
  };
  const mine = [];
  weights?.forEach((row, i) => row.forEach((w, j) => {
    if (i !== at && w > 0.05) svg.append(line(i, j, Math.min(1, w)));
    if (i === at && w > 0.004) mine.push(...arrow(i, j, Math.min(1, w)));
  }));
  svg.append(...mine);
  const stand = (i, y, end) => (onEnd ? { x: x(i) + 4, y, transform: `rotate(-90 ${x(i) + 4} ${y})`, class: `pick ${end}` } : { x: x(i), y, class: "pick middle" });
  names.forEach((text, i) => {
    const share = element("tspan", { class: shares[i].startsWith("✗") ? "strong accused" : "strong", ...(onEnd ? {} : { x: x(i), dy: 16 }) }, shares[i]);
    const name = element("tspan", onEnd && shares[i] ? { dx: 5 } : {}, text), parts = onEnd ? [share, name] : [name, share];
    const above = element("text", stand(i, head - 4, ""), lookers[i]), below = element("text", stand(i, onEnd ? foot : foot + 10, "end"), ...parts);
    if (weights) svg.append(element("circle", { class: "dot", cx: x(i), cy: top, r: i === at ? 4 : 2 }));
    above.classList.toggle("strong", i === at);
    above.addEventListener("click", () => choose({ at: i }));
    below.addEventListener("click", () => choose({ key: i }));
    svg.append(above, below);
  });
  svg.append(element("text", { class: "quiet", x: 2, y: 12 }, "who looks"), element("text", { class: "quiet", x: 2, y: height - 6 }, "who is looked at, and with what weight"));
  const later = weights?.[at].map(Number).filter((w, j) => j > at) ?? [], others = weights?.filter(isPeeking).length, odd = weights && sayOdd(weights);
  const leak = later.some(ahead) ? `✗ ${word(at)} gives ${percent(sum(later))} of its weight to words that come after it. It must not see them.`
    : others ? `✗ ${others} other ${others === 1 ? "word looks" : "words look"} at words that come later, and must not.` : "";
  const says = weights ? [leak, odd].filter(Boolean).join(" ") || "✓ No word looks at a later word." : "Who looks at whom appears here once your softmax is written (step 4).";
  svg.setAttribute("aria-label", `${$("hero-name").textContent}. ${says}`);
  show("hero-picture", svg);
  $("hero-says").textContent = says;
  $("hero-note").textContent = `The number before a word is its position.${weights ? " An arrow goes from the word that is looked at to the word that looks. The thicker it is, the larger the weight; below 0.4 % there is none. Grey lines are those of the other words. Dashed and ✗: from the future." : ""}`;
  $("hero-says").classList.toggle("bad", /^[✗?~]/.test(says));
}

function drawHeads() {
  const { data, layer, head } = state, made = [...$("heads").children];
  if (data === drawHeads.data)
    return made.forEach((button, i) => {
      const chosen = i === layer * model().heads + head;
      button.setAttribute("aria-checked", chosen);
      button.tabIndex = chosen ? 0 : -1;
    });
  drawHeads.data = data;
  $("heads-note").hidden = model().layers * model().heads === 1 || !data.weights;
  if (model().layers * model().heads === 1 || !data.weights) return show("heads");
  const buttons = data.weights.flatMap((heads, l) => heads.map((weights, h) => {
    const chosen = l === layer && h === head, t = weights.length;
    const svg = element("svg", { "aria-hidden": "true", viewBox: `0 0 ${t} ${t}` }, element("rect", { class: "frame", width: t, height: t, "stroke-width": 0.05 }));
    weights.forEach((row, i) => row.forEach((w, j) => w > 0.1 && svg.append(element("rect", { class: j > i ? "leak" : "more", x: j, y: i, width: 1, height: 1, "fill-opacity": Math.min(1, w) }))));
    const button = element("button", { type: "button", role: "radio", "aria-checked": chosen, tabindex: chosen ? 0 : -1 }, svg, `layer ${l}, head ${h}`);
    button.addEventListener("click", () => choose({ layer: l, head: h }));
    return button;
  }));
  show("heads", ...buttons);
}

// The functions that a box shows, in the model at hand: the step, and what became of each.
function functionsOf(id) {
  const { steps, written, called } = state.data, { layer, decoder = layer } = FLOW[id].functions;
  return (state.model === "decoder" ? decoder : layer).map((name) => ({ name, step: steps[name], written: written.includes(name), called: called.includes(name) }));
}

// The boxes of the flow: which functions they show, and how.
const pairs = (name, label, more = {}) => ({
  draw: () => [matrix({
    label, rows: own(name), down: labels(), across: labels(), cell: square(), axes: "row: word that looks · column: word looked at",
    chosen: { row: state.at, column: state.key }, ...more,
  })],
  table: () => table("", labels(), labels(), own(name), more.accuse),
});
// Words by features. Three narrow ones stand side by side if they have few features.
const features = (name, label, chosen = {}) => {
  const wide = own(name)[0].length, narrow = ["q", "k", "v"].includes(name) && wide <= 16;
  return matrix({
    label, rows: own(name), down: labels(), cell: strip(wide, narrow ? 44 : 290), axes: narrow ? `${label}: word × feature` : `${label}, row: word · column: feature`,
    chosen: { row: state.at, ...chosen },
  });
};
const isHidden = (s) => s <= -1e8;
const future = { accuse: (i, j, w) => (j > i && ahead(w) ? "✗" : ""), most: 1, depth: true };
const blind = { accuse: (i, j, s) => (j > i && s > -1e8 ? "✗" : j <= i && isHidden(s) ? "?" : "") };
const accused = (name, sign, accuse) => own(name).flatMap((row, i) => row.flatMap((x, j) => (accuse(i, j, Number(x)) === sign ? [[i, j]] : [])));
// Whether in each of these pairs the second word comes so many positions after the first.
const areApart = (found, positions) => found.length > 1 && found.every(([i, j]) => j - i === positions);
const NEXT = "✗ Each word also sees the next one";
const FLOW = {
  qkv: {
    title: "queries, keys and values", functions: { layer: ["project_qkv"], decoder: ["split_heads", "multi_head_attention"] }, needs: ["q", "k"],
    draw: () => ["x", "q", "k", "v"].filter((name) => own(name)).map((name) => features(name, name, "xq".includes(name) ? {} : { row: state.key })),
    table: () => ["x", "q", "k", "v"].filter((name) => own(name)).map((name) => table(name, own(name)[0].map((_, f) => f), labels(), own(name))),
    says: () => `x is ${state.layer ? `what layer ${state.layer} reads` : "the embedding plus the position"}. q of ${word(state.at)} meets k and v of ${word(state.key)}.`,
  },
  scores: {
    title: "scores", functions: { layer: ["attention_scores"] }, needs: ["scores"], ...pairs("scores", "Scores"),
    says: () => `${word(state.at)} and ${word(state.key)} score ${number(own("scores")[state.at][state.key])}.`,
    wrong: () => (wrongScore() ? `✗ q·k/√d_k is ${number(scoreOf().result)} here, and your score is ${number(own("scores")[state.at][state.key])}.` : ""),
  },
  masked: {
    title: "what softmax gets", functions: { layer: ["causal_mask", "apply_mask"] }, needs: ["masked"], ...pairs("masked", "Masked scores", blind),
    says: () => { const all = own("masked").flat(); return `${all.filter((s) => isHidden(Number(s))).length} of ${all.length} scores are hidden: a stroke is −∞.`; },
    wrong: () => {
      const unasked = functionsOf("masked").some((one) => one.name === "apply_mask" && !one.called);
      const shown = accused("masked", "✗", blind.accuse), lost = accused("masked", "?", blind.accuse);
      if (areApart(shown, 1)) return `${NEXT}: the scores one position ahead are not hidden.`;
      if (shown.length) return `✗ Scores of later words are not hidden.${unasked ? " Your code does not call apply_mask here." : ""}`;
      if (!lost.length) return "";
      return `? ${areApart(lost, 0) ? "Each word is hidden from itself" : "Words are hidden that do not come later"}: a word must see itself and those before it.`;
    },
  },
  softmax: {
    title: "weights", functions: { layer: ["softmax"] }, needs: ["softmax"], ...pairs("softmax", "Weights", future),
    says: () => `The row of ${word(state.at)} sums to ${number(sum(own("softmax")[state.at]))}.`,
    wrong: () => [accused("softmax", "✗", future.accuse).length ? "✗ There are weights on words that come later." : "", sayOdd(own("softmax"))].filter(Boolean).join(" "),
  },
  output: {
    title: "output", needs: ["output"], functions: { layer: ["attention_output", "attention", "masked_self_attention"], decoder: ["attention_output", "attention"] },
    draw: () => [features("output", "output", { column: state.feature })],
    table: () => table("", own("output")[0].map((_, f) => f), labels(), own("output")),
    says: () => `What ${word(state.at)} has taken from the values. Click a number to see its sum.`,
  },
  next: {
    title: "next word", needs: ["next"], functions: { layer: ["next_token_logits"], decoder: ["decoder_block", "decoder_logits"] },
    draw: () => [drawNext()],
    table: () => table("word", ["chance"], state.data.next[state.at].map(([text]) => text), state.data.next[state.at].map(([, p]) => [p]), undefined, 5),
    says: () => `After ${word(state.at)} comes “${state.data.next[state.at][0][0]}” most likely.`,
  },
};
const sum = (row) => row.map(Number).reduce((a, b) => a + b, 0);

function drawNext() {
  const rows = state.data.next[state.at], width = 340, height = rows.length * 22 + 26;
  const label = `What may come after ${word(state.at)}`;
  const svg = element("svg", { role: "img", "aria-label": label, width, height, viewBox: `0 0 ${width} ${height}` }, element("title", {}, label));
  svg.append(element("text", { class: "quiet", x: 2, y: 14 }, `after “${state.data.words[state.at]}”`), element("text", { class: "quiet", x: 90, y: 14 }, "chance, from 0 to 100 %"));
  rows.forEach(([text, p], i) => {
    const y = 24 + i * 22, long = Math.max(1, 190 * Math.min(1, Number(p) || 0));
    svg.append(element("text", { class: i ? "end" : "end strong", x: 84, y: y + 13 }, text), element("rect", { class: "more", x: 90, y, width: long, height: 16, "fill-opacity": 0.75 }),
      element("text", { x: 94 + long, y: y + 13 }, percent(Number(p))));
  });
  return svg;
}

function makeFlow() {
  show("flow", ...Object.entries(FLOW).map(([id, box]) => {
    const picture = element("div", { class: "picture", id: `${id}-picture` });
    if (["scores", "masked", "softmax"].includes(id)) choosePairs(picture);
    if (id === "output") picture.addEventListener("click", (event) => {
      const cell = event.target.closest("svg")?.place?.(event);
      if (cell) choose({ at: cell[0], feature: cell[1] });
    });
    picture.setAttribute("aria-label", `${box.title}: the arrow keys choose a pair`);
    return element("li", { class: "panel", id }, element("h3", { id: `${id}-name` }), picture, element("p", { class: "box-says", id: `${id}-says` }), tools(id, box.table));
  }));
}

function drawFlow() {
  for (const [id, box] of Object.entries(FLOW)) {
    const functions = functionsOf(id), there = box.needs.every((name) => (name === "next" ? state.data.next : own(name)));
    const called = functions.filter((one) => one.called), shown = there && called.length ? called : functions.filter((one) => one.step);
    const names = shown.flatMap((one, i) => [i ? ", " : "", element("code", {}, one.name)]);
    const steps = [...new Set(shown.map((one) => one.step).filter(Boolean))].join(", ");
    const place = Object.keys(FLOW).indexOf(id) + 1;
    show(`${id}-name`, `${place}. `, ...names, element("small", {}, ` ${box.title}, step ${steps}`));
    $(id).classList.toggle("grey", !there);
    $(id).querySelector(".tools").hidden = !there;
    show(`${id}-picture`, ...(there ? box.draw() : []));
    const wrong = there ? box.wrong?.() : "", missing = functions.filter((one) => !one.written && one.step);
    const unasked = missing.length ? `Still to be written: ${missing.map((one) => `${one.name} (step ${one.step})`).join(", ")}.` : `Your code did not call ${functions.filter((one) => !one.called).map((one) => one.name).join(" or ")} in this run, so there is nothing to see here.`;
    $(`${id}-says`).textContent = wrong || (there ? box.says() : unasked);
    $(`${id}-says`).classList.toggle("bad", Boolean(wrong) || (!there && !missing.length));
    $(id).querySelector("details").fill();
  }
}

// Down to one multiplication: the numbers are rounded, to as many digits as it takes for their sum to
// agree with what was returned. The verdict compares numbers that are not rounded.
const round = (x, digits) => Number(Number(x).toFixed(digits));
const EXACT = 12;
const near = (a, b) => Math.abs(a - b) <= 0.001 + 0.001 * Math.abs(b) || a === b;
function enough(worked, returned, shown) {
  const same = (digits) => round(worked(digits).result, shown) === round(returned, shown);
  return near(Number(returned), worked(EXACT).result) ? [3, 4, 5, 6].find(same) ?? 7 : 3;
}
function scoreOf(digits = EXACT) {
  const q = own("q")[state.at].map((x) => round(x, digits)), k = own("k")[state.key].map((x) => round(x, digits));
  const products = q.map((x, f) => round(x * k[f], digits)), total = round(sum(products), digits);
  return { q, k, products, total, result: round(total / Math.sqrt(q.length), digits) };
}
function weightOf(digits) {
  const scores = own("masked")[state.at].map((x) => round(x, digits)), top = Math.max(...scores);
  const powers = scores.map((s) => (s === -Infinity ? 0 : round(Math.exp(s - top), digits))), total = round(sum(powers), digits);
  return { scores, powers, total, result: total === 0 ? 0 : round(powers[state.key] / total, digits) };
}
function outputOf(digits) {
  const weights = own("weights")[state.at].map((x) => round(x, digits)), values = own("v").map((row) => round(row[featureAt()], digits));
  const products = weights.map((w, j) => round(w * values[j], digits));
  return { weights, values, products, result: round(sum(products), digits) };
}
const featureAt = () => Math.min(state.feature, own("v")[0].length - 1);
const wrongScore = () => own("q") && own("k") && own("scores") && !near(Number(own("scores")[state.at][state.key]), scoreOf().result);
function verdict(name, given, right, digits = 3) {
  const ok = near(Number(given), right);
  return element("p", { class: ok ? "returned" : "returned bad" }, `${ok ? "✓" : "✗"} Your ${name} returned ${number(given, digits)}${ok ? "" : `, and these numbers give ${number(right, digits)}`}.`);
}

function part(title, corner, heads, names, rows, digits, chosen, ...end) {
  const made = table(corner, heads, names, rows, undefined, digits);
  made.querySelectorAll("tbody tr")[chosen]?.classList.add("chosen");
  return element("div", {}, element("h3", {}, `${title} `, element("small", {}, rows.length > 10 ? `${rows.length} rows: scroll` : "")), element("div", { class: "wide", tabindex: 0, role: "group", "aria-label": title }, made), ...end);
}

function drawZoom() {
  const { words } = state.data, { at, key } = state, parts = [];
  show("zoom-name", "Down to one multiplication ", element("small", {}, `${word(at)} looks at ${word(key)}`));
  if (own("q") && own("k") && own("scores")) {
    const given = own("scores")[at][key], digits = enough(scoreOf, given, 3), { q, k, products, total, result } = scoreOf(digits);
    parts.push(part("The score", "feature", ["q", "k", "q·k"], q.map((_, f) => f), q.map((x, f) => [x, k[f], products[f]]), digits, -1,
      element("p", { class: "sum" }, `Sum ${number(total, digits)}, divided by √${q.length}: ${number(result, digits)}`), verdict("attention_scores", given, scoreOf().result)));
  }
  if (own("masked") && own("softmax")) {
    const given = own("softmax")[at][key], digits = enough(weightOf, given, 4), { scores, powers, total, result } = weightOf(digits);
    parts.push(part("The weight", "key", ["score s", "exp(s − max)"], labels(), scores.map((s, j) => [s, powers[j]]), digits, key,
      element("p", { class: "sum" }, `exp(s − max) of “${words[key]}”, ${number(powers[key], digits)}, divided by the sum ${number(total, digits)}: ${number(result, digits)}. The max is the row’s largest score.`), verdict("softmax", given, weightOf(EXACT).result, 4)));
  }
  if (own("weights") && own("v") && own("output")) {
    const given = own("output")[at][featureAt()], digits = enough(outputOf, given, 3), { weights, values, products, result } = outputOf(digits);
    parts.push(part(`The output, feature ${featureAt()}`, "key", ["weight", "v", "weight·v"], labels(), weights.map((w, j) => [w, values[j], products[j]]), digits, key,
      element("p", { class: "sum" }, `Sum ${number(result, digits)}`), verdict("attention", given, outputOf(EXACT).result)));
  }
  $("zoom").hidden = !parts.length;
  show("zoom-parts", ...parts);
  for (const row of $("zoom-parts").querySelectorAll("tr.chosen")) row.closest(".wide").scrollTop = row.offsetTop - 120;
}

const marked = new WeakMap(); // of each map of influence: where it is not 0
function signs(moved) {
  if (!marked.has(moved)) marked.set(moved, moved.map((row) => row.map((x) => (Number.isNaN(Number(x)) ? NaN : ahead(x) ? 0.6 : 0))));
  return marked.get(moved);
}

const reachesLater = () => gradients().rows.some((row) => row.some((g, j) => j > state.at && g > 1e-9));
const unstable = () => state.data.moved.flat().some((x) => Number.isNaN(Number(x)));

// The three pictures below the flow: what leaks, how the cache fills, and what goes back.
const BELOW = {
  leaks: {
    title: "Leak map", more: "each word is replaced in turn: which outputs move?", there: () => state.data.moved,
    draw: () => [matrix({
      label: "Leak map", rows: signs(state.data.moved), down: labels(), across: labels(), cell: square(), most: 1, met: "moves the output, as it may",
      axes: "row: output that moved · column: word replaced", chosen: { row: state.at, column: state.key }, accuse: future.accuse,
    })],
    table: () => table("", labels(), labels(), state.data.moved, future.accuse),
    says: () => {
      const { leaks } = state.data;
      return leaks.length ? `${areApart(leaks, 1) ? NEXT : `✗ The model peeks in ${leaks.length} places`}: the prediction after ${word(leaks[0][0])} changes when ${word(leaks[0][1])} is replaced.` : unstable() ? "~ Some predictions are not numbers (NaN): the map cannot show on what they depend." : "No prediction depends on a later word.";
    },
    wrong: () => state.data.leaks.length > 0 || unstable(),
    problem: () => "Write masked_self_attention (step 5), and it appears here.",
  },
  cache: {
    title: "The cache fills", more: "a row of k and of v for each word that was read", there: () => !state.data.cache.problem,
    draw: () => (state.data.cache.k ? ["k", "v"].map((name) => {
      const rows = state.data.cache[name][state.layer][state.head], kept = Math.max(0, state.data.cache.rows[state.fed - 1]);
      const most = Math.max(...rows.flat().map(Number).filter(Number.isFinite).map(Math.abs));
      return matrix({ most, label: `${name} that attention gets`, rows: rows.map((row, i) => (i < kept ? row : row.map(() => 0))), down: labels().slice(0, rows.length), cell: strip(rows[0].length, rows[0].length <= 16 ? 110 : 290), axes: `${name}, row: word · column: feature`, chosen: { row: Math.max(0, kept - 1) } });
    }) : []),
    table: () => table("", ["numbers held", "logits apart"], labels(), state.data.words.map((_, i) => [state.data.cache.held[i], state.data.cache.apart?.[i] ?? 0])),
    says: () => {
      const { held, apart, rows } = state.data.cache, fed = state.fed, off = apart?.[fed - 1];
      const grown = fed > 1 ? held[fed - 1] - held[fed - 2] : held[0];
      const same = !state.masked.every(Boolean) ? "A cache holds no later words: to compare its logits, switch all masks on." : off === undefined ? "" : off < 1e-6 ? "The logits are the same as without a cache." : `The logits differ from those without a cache by ${number(off)}.`;
      const keys = rows[fed - 1] >= 0 ? ` Attention gets ${rows[fed - 1]} ${rows[fed - 1] === 1 ? "key" : "keys"}.` : "";
      return `Only ${word(fed - 1)} is read now. Your cache now holds ${held[fed - 1].toLocaleString("en")} numbers, ${grown.toLocaleString("en")} of them new.${keys} ${same}`;
    },
    wrong: () => state.masked.every(Boolean) && state.data.cache.apart?.[state.fed - 1] > 1e-6,
    problem: () => state.data.cache.problem,
  },
  backward: {
    title: "Backward", more: "from a loss at the chosen word: how large is the gradient at each word?", there: () => !state.data.backward.problem,
    draw: () => {
      const { names, rows } = gradients();
      const shares = rows.map((row) => row.map((g) => (Number(g) > 1e-9 ? g / Math.max(...row) : 0)));
      return [matrix({ label: "Size of the gradient at each word", rows: shares, most: 1, down: names, across: labels(), cell: [Math.max(12, square()[0] * 0.9), 24], axes: "row: where the gradient arrives, its largest is 1 · column: word", depth: true, accuse: (_, j, g) => (j > state.at && g > 0 ? "✗" : ""), chosen: { whole: state.at } })];
    },
    table: () => { const { names, rows } = gradients(); return table("", labels(), names, rows); },
    says: () => (reachesLater() ? "✗ The gradient reaches words that come later: the forward pass must have read them." : `The loss after ${word(state.at)} sends nothing to later words. The fuller a cell, the larger its gradient.`),
    wrong: reachesLater,
    problem: () => state.data.backward.problem,
  },
};
// The sizes of the gradients for a loss at the chosen word: of the boxes, the last first.
function gradients() {
  const { backward } = state.data, names = [], rows = [];
  for (let layer = model().layers - 1; layer >= 0; layer--) {
    for (const name of ["v", "k", "q"])
      if (backward[name] && layer === state.layer) { names.push(`${name}, head ${state.head}`); rows.push(backward[name][state.at][layer][state.head]); }
    names.push(`x, layer ${layer}`);
    rows.push(backward.x[state.at][layer]);
  }
  return { names, rows };
}

function makeBelow() {
  show("below", ...Object.entries(BELOW).map(([id, box]) => {
    const more = id === "cache" ? [element("p", { class: "slider" }, element("label", { for: "fed" }, "Words read"), element("input", { type: "range", id: "fed", min: 1, value: 1 }))] : [];
    return element("section", { class: "panel", id, "aria-labelledby": `${id}-name` }, element("h2", { id: `${id}-name` }, `${box.title} `, element("small", {}, box.more)), ...more,
      element("div", { class: "picture", id: `${id}-picture` }), element("p", { class: "box-says", id: `${id}-says` }), tools(id, box.table));
  }));
  choosePairs($("leaks-picture"));
  $("leaks-picture").setAttribute("aria-label", "Leak map: the arrow keys choose a pair");
  $("fed").addEventListener("input", () => choose({ fed: Number($("fed").value) }));
}

function drawBelow() {
  const { words } = state.data;
  Object.assign($("fed"), { max: words.length, value: state.fed });
  $("fed").setAttribute("aria-valuetext", `${state.fed} of ${words.length}`);
  for (const [id, box] of Object.entries(BELOW)) {
    const there = Boolean(box.there());
    $(id).classList.toggle("grey", !there);
    $(id).querySelector(".tools").hidden = !there;
    $(id).querySelector(".slider")?.toggleAttribute("hidden", !there);
    show(`${id}-picture`, ...(there ? box.draw() : []));
    $(`${id}-says`).textContent = there ? box.says() : box.problem();
    $(`${id}-says`).classList.toggle("bad", there && Boolean(box.wrong()));
    $(id).querySelector("details").fill();
  }
}

function choose(chosen) {
  const focused = document.activeElement?.closest("#heads");
  Object.assign(state, chosen);
  draw();
  if (focused) document.querySelector("#heads [aria-checked=true]").focus();
}

function draw() {
  const { data } = state, last = data.words.length - 1;
  state.at = Math.min(state.at, last);
  state.key = Math.min(state.key, last);
  state.fed = Math.min(state.fed, last + 1);
  Object.assign($("at"), { max: last, value: state.at });
  $("at").setAttribute("aria-valuetext", word(state.at));
  $("so-far").textContent = `${data.words.slice(0, state.at + 1).join(" ")} …`;
  drawHeads(); drawHero(); drawFlow(); drawZoom(); drawBelow(); drawVerdict();
}

// What is wrong in the pictures stands at the top, too, with a link to each: what the learner took
// away with a button is no mistake of the code.
function isByButton(says) {
  const { id } = says.closest(".panel"), ofLayer = ["hero", "masked", "softmax"].includes(id), ofAll = ["leaks", "backward"].includes(id);
  return says.textContent.startsWith("✗") && ((ofLayer && !state.masked[state.layer]) || (ofAll && !state.masked.every(Boolean)));
}
function drawVerdict() {
  const isFirst = (says, i, all) => i === all.findIndex((one) => one.textContent === says.textContent);
  const found = [...document.querySelectorAll("#hero-says.bad, .box-says.bad")].filter(isFirst), mistakes = found.filter((says) => !isByButton(says));
  const gone = state.masked.flatMap((on, layer) => (on ? [] : [layer])), mask = model().layers > 1 ? `the mask of layer ${gone.join(" and ")}` : "the mask";
  const link = (says) => element("li", {}, element("a", { href: `#${says.closest(".panel").id}` }, says.textContent));
  const list = (head, all) => (all.length ? [element("li", {}, head), ...all.map(link)] : []);
  $("verdict").classList.toggle("neutral", !mistakes.length);
  show("verdict", ...list("Something is wrong here:", mistakes), ...list(`You took away ${mask}:`, found.filter(isByButton)));
}

const peeks = ({ weights }) => weights?.some((heads) => heads.some((rows) => rows.some((row, i) => row.some((w, j) => j > i && ahead(w)))));

// Begin where a word takes most from a later one, if any does.
function chooseLeak() {
  let most = 0;
  state.data.weights?.forEach((heads, layer) => heads.forEach((rows, head) => rows.forEach((row, at) => row.forEach((w, key) => {
    if (key <= at || !ahead(w) || !(Math.abs(w) > most)) return;
    most = Math.abs(w);
    Object.assign(state, { layer, head, at, key });
  }))));
  return most > 0;
}

// The words or the model are new: begin at the last word, with the pair and the head that tell most.
function chooseFirst() {
  const { data } = state, likeliest = data.next?.at(-1)[0][0];
  Object.assign(state, { at: data.words.length - 1, key: 0, layer: 0, head: 0, feature: 0, fed: data.words.length });
  if (chooseLeak()) return;
  let most = 0;
  data.weights?.forEach((heads, layer) => heads.forEach((rows, head) => data.words.forEach((text, j) => {
    const w = rows.at(-1)[j] + (text === likeliest ? 1 : 0);
    if (!(rows.at(-1)[j] > 0.05) || !(w > most)) return;
    most = w;
    Object.assign(state, { layer, head, key: j });
  })));
}

const ended = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);
function say(problem) {
  $("problem").hidden = !problem;
  $("problem").textContent = problem ? `${ended(problem)}${state.data.words ? " These are the pictures of the last code that ran." : ""}` : "";
  $("verdict").hidden = Boolean(problem);
  $("main").hidden = !state.data.words; // nothing could be asked yet
  $("main").classList.toggle("old", Boolean(problem));
  if (problem) $("told").textContent = "";
}

async function answer(prompt) {
  if (!LIVE) return START.sets[JSON.stringify([state.masked, state.cheat])];
  try {
    const reply = await fetch(`/ask?key=${START.key}`, { method: "POST", body: JSON.stringify({ prompt, model: state.model, masked: state.masked, cheat: state.cheat }) });
    return await reply.json();
  } catch {
    return { problem: "The explorer has ended: start it again, and reload this page." };
  }
}

// Words that cannot be read are no mistake of the code: the last ones are asked again.
async function ask() {
  const mine = ++state.asking;
  $("status").textContent = "asking your code …";
  let data = await answer($("prompt").value);
  const unread = data.unread ? data.problem : "";
  if (unread) data = await answer(state.data.words && state.data.model === state.model ? state.data.words.join(" ") : model().prompt);
  if (mine !== state.asking) return; // a later question is under way
  say(data.problem);
  $("status").textContent = data.problem || unread ? "" : "up to date";
  const words = (data.words ?? state.data.words)?.join(" ");
  show("unread", ...(unread ? [ended(unread), ...(words ? [element("br"), `The pictures are those of “${words}”.`] : [])] : []));
  if (data.problem) return;
  const before = state.data;
  state.data = data;
  if (data.model !== state.model) { state.model = data.model; state.masked = model().masked.slice(); }
  if (before.model !== data.model || before.words?.join(" ") !== data.words.join(" ")) chooseFirst();
  else if (!peeks(before)) chooseLeak();
  makeSettings();
  draw();
}

async function follow(version) {
  let next = version;
  try {
    next = (await (await fetch(`/version?key=${START.key}`)).json()).version;
  } catch { /* the explorer has ended, or will answer again */ }
  if (next !== version) await ask();
  setTimeout(follow, 150, next);
}

// Four things to try, each with a sentence on what happened, in numbers that were measured.
async function run(cheat, masked) {
  Object.assign(state, { cheat, masked });
  await ask();
  return state.data.loss === null ? "" : number(state.data.loss, state.data.loss < 0.01 ? 4 : 3);
}
const change = (before, after) => (before ? ` The loss on your words (less is better): ${before} → ${after}.` : "");
const all = (on) => model().masked.map(() => on);
const GUIDE = [
  [() => (model().layers > 1 ? "Take away layer 0’s mask" : "Take away the mask"), async () => {
    const before = await run(false, all(true)), after = await run(false, all(true).map((on, layer) => on && layer > 0));
    return state.data.leaks ? `${state.data.leaks.length} pairs leak: red arrows come from the right.${change(before, after)}${Number(after) > Number(before) ? " The model learned with the mask, and cannot use what it sees now." : ""}` : "Nothing hides the scores of later words now.";
  }],
  [() => "See the model that was trained without", async () => {
    const before = await run(false, all(true)), after = await run(true, all(false));
    return `This model learned with no mask, and reads its answers from the future.${change(before, after)} A loss that peeks is worth nothing.`;
  }],
  [() => "Put a mask on that model", async () => {
    const before = await run(true, all(false)), after = await run(true, all(true));
    return `The model that was trained without a mask may look back only, as it must when it writes, and knows nothing.${change(before, after)}`;
  }],
  [() => "Fill the cache word by word", async () => {
    if (state.data.cache.problem) return state.data.cache.problem;
    const last = state.data.words.length, mine = ++state.filling;
    $("cache").scrollIntoView({ block: "nearest", behavior: calm.matches ? "auto" : "smooth" });
    for (let fed = calm.matches ? last : 1; fed <= last && mine === state.filling; fed++) {
      choose({ fed });
      if (fed < last) await new Promise((resolve) => setTimeout(resolve, 350));
    }
    return "Each word is read once. Its key and its value are a new row, and the old rows stay as they were: the mask has kept them from reading it.";
  }],
  [() => "Reset", async () => { await run(false, all(true)); chooseFirst(); draw(); return ""; }],
];

function makeSettings() {
  const choice = (name, type, checked, text, change) => {
    const input = element("input", { type, name });
    input.checked = checked;
    input.addEventListener("change", () => change(input.checked));
    return element("label", {}, input, ` ${text}`);
  };
  const focus = document.activeElement?.name && [document.activeElement.name, [...document.getElementsByName(document.activeElement.name)].indexOf(document.activeElement)];
  const legend = (id) => $(id).querySelector("legend");
  show("models", legend("models"), ...START.models.filter((one) => LIVE ? state.data.models?.includes(one.name) : one.name === state.model)
    .map((one) => choice("model", "radio", one.name === state.model, one.title, () => {
      if ($("prompt").value === model().prompt) $("prompt").value = one.prompt;
      Object.assign(state, { model: one.name, masked: one.masked.slice(), cheat: false });
      ask();
    })));
  show("trained", legend("trained"), ...[["with the mask", false], ["without it", true]].map(([text, cheat]) =>
    choice("trained", "radio", cheat === state.cheat, text, () => { state.cheat = cheat; ask(); })));
  show("masks", legend("masks"), ...state.masked.map((on, layer) =>
    choice("mask", "checkbox", on, model().layers > 1 ? `the mask of layer ${layer}` : "the mask", (checked) => { state.masked = state.masked.with(layer, checked); ask(); })));
  show("known", ...model().known.map((text) => {
    const button = element("button", { type: "button" }, text);
    button.addEventListener("click", () => { $("prompt").value = `${$("prompt").value.trim()} ${text}`.trim(); ask(); });
    return button;
  }));
  show("guide", ...GUIDE.map(([title, action], place) => {
    const button = element("button", { type: "button" }, place < 4 ? `${place + 1}. ${title()}` : title());
    button.addEventListener("click", async () => { const text = await action(); $("told").textContent = $("problem").hidden ? text : ""; });
    return button;
  }));
  if (focus) document.getElementsByName(focus[0])[focus[1]]?.focus();
}

function setUp() {
  $("whose").textContent = `${START.code}.`;
  $("prompt").value = START.prompt;
  $("prompt").readOnly = !LIVE;
  $("fixed").hidden = LIVE;
  $("follows").hidden = !LIVE;
  $("show").hidden = $("words").hidden = !LIVE;
  makeSettings();
  makeFlow();
  makeBelow();
  $("form").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  $("at").addEventListener("input", () => choose({ at: Number($("at").value) }));
  $("heads").addEventListener("keydown", (event) => {
    const { heads, layers } = model(), step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (state.layer * heads + state.head + step + layers * heads) % (layers * heads);
    choose({ layer: Math.floor(next / heads), head: next % heads });
  });
  let width = 0;
  new ResizeObserver(() => { if (state.data.words && $("hero").clientWidth !== width) { width = $("hero").clientWidth; drawHero(); } }).observe($("hero"));
  if (state.data.unread) ask(); else if (START.first.problem) say(START.first.problem); else { chooseFirst(); draw(); }
  if (LIVE) follow(START.version);
}
setUp();
