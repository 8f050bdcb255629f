// The stock screen: a field and steppers for each fruit, for staff.

import { post } from "/commands.js";
import { $, commands, known, lockName, menu, words } from "/state.js";
import { browser } from "/storage.js";
import { StockRow, typed } from "/view.js";

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

// The edit that was asked about: of far more than there is, as a slip or another device may type it.
let asked = null;

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
  const most = 10 * Math.max(100, ...known.levels.values());
  const large = rows.find((row) => amounts[row.fruit.id] > most);
  const edit = JSON.stringify([known.store, mode(), amounts]);
  if (large && asked !== edit) {
    asked = edit;
    large.field.setAttribute("aria-invalid", "true");
    return complain(large, "largeAmount", words.number(amounts[large.fruit.id]));
  }
  clearApplied();
  commands.send("restock", known.store, { [mode()]: amounts });
});

function complain(row, text, ...values) {
  row.applied.textContent = words.text(text, ...values);
  row.field.focus();
}

// Shows the levels from the service's answer, not the requested ones.
export function showApplied(answer) {
  for (const row of rows) {
    const left = answer.left[row.fruit.id];
    if (left === undefined) continue;
    row.applied.textContent = words.text("applied", words.count(left));
    row.field.value = "";
  }
}

// Why signing in or out failed.
let failure = null;

// Signs in or out. Resolves to the failure; null if there was none.
async function sign(inOrOut, headers) {
  const { by, status, body } = await post(`/api/staff/sign-${inOrOut}`, {}, headers);
  return by === "kiosk" && status === 204 ? null : { by, status, code: body?.error, inOrOut };
}

$("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const secret = typed($("token"));
  // It has to fit into a header.
  const canBeSent = /^[\x21-\x7e]+$/.test(secret);
  fail(canBeSent ? await sign("in", { "Juice-Secret": secret }) : { by: "kiosk", code: "wrongToken" });
  if (failure) return $("token").select();
  $("token").value = "";
  setLocked(false);
  letIn(true);
  focusRow(known.shortFruit);
});

// The page locks itself at once, and stays so after a reload. Whatever stands between may refuse what the kiosk has to hear.
export async function lock() {
  setLocked(true);
  letIn(false);
  $("token").focus();
  const refusal = await sign("out");
  // Staff may have signed in meanwhile.
  if (!menu.isLocked) return;
  setLocked(refusal !== null);
  fail(refusal);
}
$("lock").addEventListener("click", lock);

function setLocked(isLocked) {
  menu.isLocked = isLocked;
  browser.write(lockName, isLocked ? "yes" : "");
}

function fail(refusal) {
  failure = refusal;
  showStaff();
}

// Edits that wait for a sign-in are sent after it.
export function letIn(isStaff) {
  commands.isStaff = isStaff;
  fail(null);
  if (isStaff) commands.resend();
}

export function showStaff() {
  const { isStaff } = commands;
  const why = failure ? words.failure(failure) : "";
  $("staff-said").textContent = failure?.inOrOut === "out" ? words.text("notSignedOut", why) : why;
  $("sign-in").hidden = isStaff;
  $("token-label").textContent = words.text(menu.secrets.join(" ") || "token");
  // Phones show digits.
  $("token").inputMode = menu.secrets.includes("token") ? "text" : "numeric";
  $("edit").hidden = !isStaff;
  $("edit").dataset.mode = mode();
  $("lock").hidden = !isStaff && !menu.isLocked;
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
