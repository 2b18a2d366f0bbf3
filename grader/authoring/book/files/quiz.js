// Questions that answer in the page, from a folder too. A key is never here, only its salted hash,
// and each explanation is locked with the answer that it belongs to: see grader/steps/quiz.py.

const WRONG = "Work it through once more, by hand, with the lesson beside you.";
const ROUNDS = 1000;

const K = new Uint32Array(64);
const START = new Uint32Array(8);
(() => {
  const fraction = (x) => ((x - Math.floor(x)) * 2 ** 32) >>> 0;
  for (let n = 2, i = 0; i < 64; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false;
    if (!prime) continue;
    if (i < 8) START[i] = fraction(Math.sqrt(n));
    K[i++] = fraction(Math.cbrt(n));
  }
})();

function compress(state, block) {
  const w = new Uint32Array(64);
  for (let i = 0; i < 16; i++)
    w[i] = (block[4 * i] << 24) | (block[4 * i + 1] << 16) | (block[4 * i + 2] << 8) | block[4 * i + 3];
  const turn = (x, n) => (x >>> n) | (x << (32 - n));
  for (let i = 16; i < 64; i++) {
    const a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >>> 3);
    const b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >>> 10);
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const one = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i];
    const two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((x, i) => (state[i] += x));
}

function sha256(bytes) {
  const length = Math.ceil((bytes.length + 9) / 64) * 64;
  const padded = new Uint8Array(length);
  padded.set(bytes);
  padded[bytes.length] = 128;
  new DataView(padded.buffer).setUint32(length - 4, bytes.length * 8);
  const state = START.slice();
  for (let i = 0; i < length; i += 64) compress(state, padded.subarray(i, i + 64));
  const result = new Uint8Array(32);
  state.forEach((x, i) => new DataView(result.buffer).setUint32(4 * i, x));
  return result;
}

const join = (a, b) => { const r = new Uint8Array(a.length + b.length); r.set(a); r.set(b, a.length); return r; };

function hmac(key, message) {
  const long = key.length > 64 ? sha256(key) : key;
  const inner = new Uint8Array(64).fill(0x36), outer = new Uint8Array(64).fill(0x5c);
  long.forEach((x, i) => { inner[i] ^= x; outer[i] ^= x; });
  return sha256(join(outer, sha256(join(inner, message))));
}

function stretch(answer, salt) {
  let result = new Uint8Array(0);
  for (let block = 1; block <= 2; block++) {
    let u = hmac(answer, join(salt, new Uint8Array([0, 0, 0, block])));
    const sum = u.slice();
    for (let i = 1; i < ROUNDS; i++) { u = hmac(answer, u); u.forEach((x, j) => (sum[j] ^= x)); }
    result = join(result, sum);
  }
  return result;
}

function unlock(text, secret) {
  const data = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  for (let i = 0; i < data.length; i += 32) {
    const mix = sha256(join(secret, new Uint8Array([i / 32])));
    for (let j = i; j < Math.min(i + 32, data.length); j++) data[j] ^= mix[j - i];
  }
  return new TextDecoder().decode(data);
}

class AnswerError extends Error {}

// As Python rounds: exactly between two, to the even one.
function round(value, digits) {
  const [whole, rest] = Math.abs(value).toFixed(60).split(".");
  const kept = whole + rest.slice(0, digits);
  if (!/^50*$/.test(rest.slice(digits)) || Number(kept.at(-1)) % 2) return value.toFixed(digits);
  return (value < 0 ? "-" : "") + (digits ? `${whole}.${rest.slice(0, digits)}` : whole);
}

function readNumber(question, text) {
  const plain = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const parts = text.replaceAll(",", "").replace("−", "-").split("/").map((x) => x.trim());
  if (parts.length > 2 || !parts.every((x) => plain.test(x)))
    throw new AnswerError("The answer is one number.");
  const value = Number(parts[0]) / Number(parts[1] ?? 1);
  if (!Number.isFinite(value)) throw new AnswerError("The answer is a finite number.");
  const told = round(value, question.digits);
  return Number(told) === 0 ? (0).toFixed(question.digits) : told;
}

function readMatrix(question, text) {
  const lines = text.trim().replace(/^\[\[|\]\]$/g, "").split(/\]\s*,?\s*\[|;|\n/);
  const rows = lines.filter((line) => line.trim())
    .map((line) => line.trim().replace(/^,|,$/g, "").split(/[\s,]+/).filter(Boolean));
  const [high, wide] = question.shape;
  if (rows.length !== high || rows.some((row) => row.length !== wide))
    throw new AnswerError(`The answer has ${high} rows of ${wide} numbers.`);
  const told = rows.map((row) => "[" + row.map((x) => `"${readNumber(question, x)}"`).join(", ") + "]");
  return "[" + told.join(", ") + "]";
}

function readWhole(text, what, example) {
  if (/[^\s,(){}[\]\d]/.test(text)) throw new AnswerError(`The answer is ${what}, for example ${example}.`);
  return (text.match(/\d+/g) ?? []).map(Number);
}

const READERS = {
  number: readNumber,
  matrix: readMatrix,
  shape: (_, text) => `[${readWhole(text, "a shape", "(2, 3)").join(", ")}]`,
  positions: (_, text) => {
    const given = /^\s*none\s*$/i.test(text) ? [] : readWhole(text, "a set of positions", "{0, 2}, or none");
    return `[${[...new Set(given)].sort((a, b) => a - b).join(", ")}]`;
  },
  order: (question, text) => {
    const given = (text.toLowerCase().match(/\w/g) ?? []), wanted = Object.keys(question.options);
    if ([...given].sort().join() !== [...wanted].sort().join())
      throw new AnswerError(`The answer is an order of all of these, each once: ${wanted.join(" ")}.`);
    return given.join(" ");
  },
  choice: (_, text) => {
    if (!text) throw new AnswerError("Choose one first.");
    return text;
  },
  open: () => "",
};

function markAnswer(question, text) {
  const bytes = (x) => new TextEncoder().encode(x);
  const found = stretch(bytes(READERS[question.kind](question, text)), bytes(question.salt));
  const name = Array.from(found.subarray(0, 16), (x) => x.toString(16).padStart(2, "0")).join("");
  const why = name in question.locked ? unlock(question.locked[name], found.subarray(32)) : WRONG;
  return { right: name === question.key, why };
}

function answer(form) {
  const question = JSON.parse(form.dataset.question);
  const output = form.querySelector("output");
  const text = new FormData(form).get(`answer-${question.id}`) ?? "";
  try {
    if (question.kind !== "open" && !String(text).trim() && question.kind !== "choice")
      throw new AnswerError("Write an answer first.");
    const { right, why } = markAnswer(question, String(text));
    output.className = question.kind === "open" ? "open" : right ? "right" : "wrong";
    const before = question.kind === "open" ? "One good answer:" : right ? "✓ Right." : "✗ Not yet.";
    output.textContent = `${before} ${why}`;
  } catch (error) {
    if (!(error instanceof AnswerError)) throw error;
    output.className = "unreadable";
    output.textContent = error.message;
  }
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form.question")) return;
  event.preventDefault();
  answer(event.target);
});
