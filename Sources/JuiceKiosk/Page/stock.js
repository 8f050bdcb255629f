// The stock screen: a field and steppers for each fruit, for staff.

import { $, commands, known, menu, words } from "/state.js";
import { StockRow } from "/view.js";

const rows = menu.fruits.map((fruit, index) => new StockRow(fruit, index));
$("rows").append(...rows.map((row) => row.element));

for (const row of rows) {
  const step = (by) => {
    const start = mode() === "set" ? known.levels.get(row.fruit.id) ?? 0 : 0;
    const value = (row.number ?? start) + by;
    row.field.value = mode() === "set" ? String(Math.max(0, value)) : value > 0 ? `+${value}` : String(value);
  };
  row.less.addEventListener("click", () => step(-1));
  row.more.addEventListener("click", () => step(1));
  row.field.addEventListener("keydown", (event) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    step(by);
  });
}

const mode = () => new FormData($("edit")).get("mode") ?? "add";

$("mode").addEventListener("change", () => {
  for (const row of rows) row.field.value = "";
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
  if (answer.store !== known.store || answer.type !== "restocked") return;
  for (const row of rows) {
    const left = answer.left.find((one) => one.fruit === row.fruit.id);
    if (!left) continue;
    row.applied.textContent = words.applied(left.amount);
    row.field.value = "";
  }
}

$("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const token = $("token").value.trim();
  let said = "tokenRefused";
  try {
    // A token has to fit into a header.
    if (!/^[\x21-\x7e]+$/.test(token)) throw undefined;
    const response = await fetch("/api/staff", {
      method: "POST", headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` }, body: "{}",
    });
    if (response.ok) said = "signedIn";
    if (response.status === 429) said = "tryLater";
  } catch (error) {
    if (error !== undefined) said = "notReached";
  }
  $("sign-in-said").dataset.said = said;
  $("sign-in-said").textContent = words.text(said);
  if (said !== "signedIn") return $("token").select();
  $("token").value = "";
  commands.token = token;
  showStaff();
  commands.resend();
  focusRow(known.shortFruit);
});

$("lock").addEventListener("click", () => {
  commands.token = null;
  delete $("sign-in-said").dataset.said;
  $("sign-in-said").textContent = "";
  showStaff();
  $("token").focus();
});

export function showStaff() {
  const isIn = commands.token !== null;
  $("editing-off").hidden = menu.canEditStock;
  $("sign-in").hidden = !menu.canEditStock || isIn;
  for (const element of $("edit").querySelectorAll("input, button")) element.disabled = !isIn;
  $("edit").classList.toggle("is-locked", !isIn);
}

export function focusRow(fruit) {
  const row = rows.find((one) => one.fruit.id === fruit) ?? rows[0];
  row.element.scrollIntoView({ block: "center" });
  row.field.focus();
}

export function showRows() {
  const isKnown = known.levels.size > 0;
  for (const row of rows) {
    const [name, amount] = [words.fruit(row.fruit.id), known.levels.get(row.fruit.id) ?? 0];
    row.name.textContent = name;
    row.count.textContent = isKnown ? words.count(amount) : "–";
    row.field.placeholder = mode() === "set" && isKnown ? String(amount) : "±0";
    row.less.setAttribute("aria-label", `${name} −1`);
    row.more.setAttribute("aria-label", `${name} +1`);
    row.element.classList.toggle("is-wanted", row.fruit.id === known.shortFruit);
  }
}

// Clears results that belong to another store or language.
export function clearApplied() { for (const row of rows) row.applied.textContent = ""; }
