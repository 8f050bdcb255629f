// The stock screen: a field and steppers for each fruit, for staff.

import { ask } from "/commands.js";
import { $, commands, known, menu, words } from "/state.js";
import { StockRow } from "/view.js";

const rows = menu.fruits.map((fruit, index) => new StockRow(fruit, index));
$("rows").append(...rows.map((row) => row.element));

for (const row of rows) {
  // A step counts when it is made.
  const step = (by) => {
    if (by < 0 && known.levels.get(row.fruit.id) === 0) return;
    commands.send("restock", known.store, { add: { [row.fruit.id]: by } }, { isQuiet: true });
  };
  row.less.addEventListener("click", () => step(-1));
  row.more.addEventListener("click", () => step(1));
}

const mode = () => $("mode").querySelector(":checked").value;

$("mode").addEventListener("change", () => {
  clearRows();
  showStaff();
  showRows();
});

$("edit").addEventListener("submit", (event) => {
  event.preventDefault();
  const amounts = {};
  for (const row of rows) {
    const number = row.number;
    row.field.setAttribute("aria-invalid", String(number === undefined));
    if (number === undefined) return complain(row, "badNumber");
    if (number !== null && !(mode() === "add" && number === 0)) amounts[row.fruit.id] = number;
  }
  if (Object.keys(amounts).length === 0) return complain(rows[0], "nothingToApply");
  clearApplied();
  commands.send("restock", known.store, { [mode()]: amounts });
});

function complain(row, text) {
  row.applied.textContent = words.text(text);
  row.field.focus();
}

// Shows the levels from the service's answer, not the requested ones.
export function showApplied(answer) {
  if (answer.store !== known.store) return;
  for (const row of rows) {
    const left = answer.left[row.fruit.id];
    if (left === undefined) continue;
    row.applied.textContent = words.text("applied", words.count(left));
    row.field.value = "";
  }
}

// The name of the text that says why signing in or out failed.
let said = null;

// Signs in or out. Resolves to the name of the text that says why that failed; null if it did not.
async function signIn(method, headers) {
  const { by, status, body } = await ask("/api/staff", { method, headers });
  return by !== "kiosk" ? "notReached" : status === 204 ? null : body.error;
}

$("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const secret = $("token").value.trim();
  // It has to fit into a header.
  const failure = /^[\x21-\x7e]+$/.test(secret) ? await signIn("POST", { Authorization: `Bearer ${secret}` }) : "wrongToken";
  say(failure);
  if (failure !== null) return $("token").select();
  $("token").value = "";
  letIn(true);
  focusRow(known.shortFruit);
});

// Signs staff out, and resolves to whether the kiosk has confirmed it.
export async function lock() {
  const failure = await signIn("DELETE");
  if (failure === null) letIn(false);
  else say(failure);
  return failure === null;
}

$("lock").addEventListener("click", async () => { if (await lock()) $("token").focus(); });

function say(text) {
  said = text;
  showStaff();
}

// Edits that wait for a sign-in are sent after it.
export function letIn(isStaff) {
  commands.isStaff = isStaff;
  say(null);
  if (isStaff) commands.resend();
}

export function showStaff() {
  const { isStaff } = commands;
  $("staff-said").textContent = said ? words.text(said) : "";
  $("sign-in").hidden = isStaff;
  $("token-label").textContent = words.text(menu.secrets.join(" ") || "token");
  // Phones show digits.
  $("token").inputMode = menu.secrets.includes("token") ? "text" : "numeric";
  $("edit").hidden = !isStaff;
  $("edit").dataset.mode = mode();
  $("lock").hidden = !isStaff;
  $("actions").hidden = !isStaff || mode() === "step" || known.screen !== "stock";
}

export function focusRow(fruit) {
  const row = rows.find((one) => one.fruit.id === fruit) ?? rows[0];
  row.element.scrollIntoView({ block: "center" });
  (mode() === "step" ? row.more : row.field).focus();
}

export function showRows() {
  const isKnown = known.levels.size > 0;
  for (const row of rows) {
    const [name, amount] = [words.fruit(row.fruit.id), known.levels.get(row.fruit.id) ?? 0];
    row.name.textContent = name;
    row.count.textContent = isKnown ? words.count(amount) : "–";
    row.field.placeholder = mode() === "set" && isKnown ? String(amount) : "±0";
    row.less.setAttribute("aria-label", `${name} −1`);
    row.less.setAttribute("aria-disabled", String(amount === 0));
    row.more.setAttribute("aria-label", `${name} +1`);
  }
}

// Clears results, which are in one language.
export function clearApplied() { for (const row of rows) row.applied.textContent = ""; }

// Clears what was typed, too, which was meant for one store and one way of editing.
export function clearRows() {
  clearApplied();
  for (const { field } of rows) field.value = "";
}
