// Questions that answer in the page, from a folder too. It reads answers as grader/steps/quiz.py does.

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
  const parts = text.replaceAll(",", "").replaceAll("−", "-").split(/([*·×/])/).map((x) => x.trim());
  if (!parts.every((x, i) => i % 2 || plain.test(x))) throw new AnswerError("The answer is one number.");
  let value = Number(parts[0]);
  for (let i = 1; i < parts.length; i += 2)
    value = parts[i] === "/" ? value / Number(parts[i + 1]) : value * Number(parts[i + 1]);
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
    const given = /^\s*none\s*$/i.test(text) ? [] : readWhole(text, "a set of numbers", "{0, 2}, or none");
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
  const given = READERS[question.kind](question, text);
  return { right: given === question.key, why: question.replies[given] ?? "" };
}

// What was answered is kept in this browser, if it lets a page keep anything.
function remember(form, text) {
  try { localStorage.setItem(`nopeek ${form.id}`, text); } catch { /* nothing is kept */ }
}

function recall(form) {
  let text = null;
  try { text = localStorage.getItem(`nopeek ${form.id}`); } catch { /* nothing was kept */ }
  if (text === null) return;
  const field = form.elements.namedItem(`answer-${form.id}`);
  field.value = text;
  if (form.dataset.question && JSON.parse(form.dataset.question).kind !== "open") answer(form);
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
    output.textContent = `${before} ${why}`.trim();
    remember(form, String(text));
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
document.querySelectorAll("form.question").forEach(recall);

// A formula that is wider than a narrow screen is drawn smaller.
for (const formula of document.querySelectorAll(".formula")) {
  const widest = Math.max(...[...formula.children].map((math) => math.scrollWidth));
  if (widest > formula.clientWidth) formula.style.fontSize = `${(100 * formula.clientWidth) / widest}%`;
}
