// The stock screen: a field and steppers for each fruit, for staff.

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
  row.field.addEventListener("keydown", (event) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const value = (row.number ?? (mode() === "set" ? known.levels.get(row.fruit.id) ?? 0 : 0)) + by;
    row.field.value = mode() === "set" ? String(Math.max(0, value)) : value > 0 ? `+${value}` : String(value);
  });
}

const mode = () => $("mode").querySelector(":checked").value;

$("mode").addEventListener("change", () => {
  for (const row of rows) row.field.value = "";
  showStaff();
  showRows();
});

$("edit").addEventListener("submit", (event) => {
  event.preventDefault();
  const amounts = {};
  for (const row of rows) {
    const number = row.number;
    row.field.setAttribute("aria-invalid", String(number === undefined));
    if (number === undefined) {
      row.applied.textContent = words.text("badNumber");
      row.field.focus();
      return;
    }
    if (number !== null && !(mode() === "add" && number === 0)) amounts[row.fruit.id] = number;
  }
  if (Object.keys(amounts).length === 0) {
    rows[0].applied.textContent = words.text("nothingToApply");
    rows[0].field.focus();
    return;
  }
  for (const row of rows) row.applied.textContent = "";
  commands.send("restock", known.store, { [mode()]: amounts });
});

// Shows the levels from the service's answer, not the requested ones.
export function showApplied(answer) {
  if (answer.store !== known.store) return;
  for (const row of rows) {
    const left = answer.left[row.fruit.id];
    if (left === undefined) continue;
    row.applied.textContent = words.applied(left);
    row.field.value = "";
  }
}

// The name of the text that says why signing in or out failed.
let said = null;

// Signs in or out. Resolves to the status, 0 if the kiosk was not reached.
async function signIn(method, secret) {
  const headers = secret ? { Authorization: `Bearer ${secret}` } : {};
  try {
    return (await fetch("/api/staff", { method, headers })).status;
  } catch {
    return 0;
  }
}

$("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const secret = $("token").value.trim();
  // It has to fit into a header.
  const status = /^[\x21-\x7e]+$/.test(secret) ? await signIn("POST", secret) : 401;
  if (status !== 204) {
    say({ 0: "notReached", 429: "tryLater" }[status] ?? "secretRefused");
    return $("token").select();
  }
  $("token").value = "";
  letIn(true);
  focusRow(known.shortFruit);
});

// The browser is locked only once the kiosk has confirmed it.
$("lock").addEventListener("click", async () => {
  if (await signIn("DELETE") !== 204) return say("notReached");
  letIn(false);
  $("token").focus();
});

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
  $("editing-off").hidden = menu.canEditStock;
  $("sign-in").hidden = !menu.canEditStock || isStaff;
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
    row.element.classList.toggle("is-wanted", row.fruit.id === known.shortFruit);
  }
}

// Clears results that belong to another store or language.
export function clearApplied() { for (const row of rows) row.applied.textContent = ""; }
