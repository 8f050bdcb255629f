// The basket: juices are added and changed, then ordered together. It survives a reload, and an order that was not made.

import { $, commands, known, menu, words } from "/state.js";
import { keep, restored } from "/storage.js";
import { BasketLine, say, typed } from "/view.js";

const mostItems = 20;
const mostOfOne = 100;
const storageName = "juice-basket";
const recipes = new Map(menu.juices.map((juice) => [juice.id, juice.recipe]));
// By juice, in the order in which they were added.
const lines = new Map();
// The id of the order that it becomes as it is. After a crash the browser may restore the basket of an order that was sent: sent
// again, that is a repeat.
let id;
let isFull = false;
let isOpen = false;
let onChange = () => {};

const items = () => [...lines.values()].map((line) => ({ juice: line.juice, quantity: line.quantity }));

// The fruits of which the store has less than these items need together.
function lacking(items) {
  // The levels are not known yet.
  if (known.levels.size === 0) return [];
  const needs = new Map();
  for (const { juice, quantity } of items) {
    for (const part of recipes.get(juice)) needs.set(part.fruit, (needs.get(part.fruit) ?? 0) + part.amount * quantity);
  }
  return [...needs].map(([fruit, needed]) => ({ fruit, lack: needed - (known.levels.get(fruit) ?? 0) }))
    .filter((one) => one.lack > 0);
}

export const isBasketEmpty = () => lines.size === 0;
export const quantityOf = (juice) => lines.get(juice)?.quantity ?? 0;

// What the basket lacks of a juice's own fruits. Where that is nothing, and the juice not in it: what it would lack with one.
export function lackingOf(juice) {
  const own = new Set(juice.recipe.map((part) => part.fruit));
  const short = (items) => lacking(items).filter((one) => own.has(one.fruit));
  const now = short(items());
  return now.length > 0 || lines.has(juice.id) ? now : short([...items(), { juice: juice.id, quantity: 1 }]);
}

export function addToBasket(juice) {
  isFull = !lines.has(juice) && lines.size === mostItems;
  if (isFull) return showBasket();
  const line = lines.get(juice) ?? newLine(juice);
  setQuantity(line, line.quantity + 1);
}

function newLine(juice) {
  const line = new BasketLine(juice);
  line.less.addEventListener("click", () => setQuantity(line, line.quantity - 1));
  line.more.addEventListener("click", () => setQuantity(line, line.quantity + 1));
  // The count follows each digit; the field is corrected when it is left.
  line.field.addEventListener("input", () => {
    const quantity = quantityIn(line.field);
    line.quantity = quantity >= 1 ? Math.min(mostOfOne, quantity) : line.former;
    changed();
  });
  line.field.addEventListener("change", () => setQuantity(line, quantityIn(line.field)));
  line.remove.addEventListener("click", () => remove(line));
  lines.set(juice, line);
  $("basket-lines").append(line.element);
  return line;
}

const quantityIn = (field) => (/^\d+$/.test(typed(field)) ? Number(typed(field)) : NaN);

// Less than one removes the line; what is no number changes nothing.
function setQuantity(line, quantity) {
  if (quantity < 1) return remove(line);
  line.set(Number.isInteger(quantity) ? Math.min(mostOfOne, quantity) : line.quantity);
  changed();
}

function changed(itsID = commands.newID()) {
  id = itsID;
  keep(storageName, [{ id, items: items() }]);
  onChange();
}

function remove(line) {
  const hadFocus = line.element.contains(document.activeElement);
  const next = line.element.nextElementSibling ?? line.element.previousElementSibling;
  line.element.remove();
  lines.delete(line.juice);
  if (hadFocus) (next?.querySelector("input") ?? $("basket-open")).focus();
  changed();
}

// Puts back what was ordered and not made, beside what was chosen since.
export function putBack(items, itsID) {
  for (const { juice, quantity } of items) {
    if (!recipes.has(juice) || !lines.has(juice) && lines.size === mostItems) continue;
    const line = lines.get(juice) ?? newLine(juice);
    line.set(Math.min(mostOfOne, line.quantity + quantity));
  }
  changed(itsID);
}

$("basket-open").addEventListener("click", () => {
  isOpen = !isOpen && lines.size > 0;
  showBasket();
});

// A second click finds an empty basket, so a double click is one order.
$("send-order").addEventListener("click", () => {
  if (lines.size === 0 || !known.takesOrders) return;
  const content = { items: items() };
  for (const line of lines.values()) line.element.remove();
  lines.clear();
  commands.send("order", known.store, content, { id });
  changed();
});

export function showBasket() {
  for (const line of lines.values()) line.show(words);
  const short = lacking(items());
  isFull &&= lines.size === mostItems;
  isOpen &&= lines.size > 0;
  $("basket-lines").hidden = !isOpen;
  $("basket-open").setAttribute("aria-expanded", String(isOpen));
  $("basket-open").setAttribute("aria-disabled", String(lines.size === 0));
  say($("basket-open"), isFull ? words.text("basketIsFull", mostItems) : words.basket(items()));
  say($("basket-short"), words.lacks(short));
  $("basket-short").hidden = short.length === 0;
  // Not `disabled`: the button would lose the focus.
  $("send-order").setAttribute("aria-disabled", String(lines.size === 0 || !known.takesOrders));
}

// Fills the basket with what it held before a reload, unless that was sent, and calls back after each change.
export function watchBasket(handler) {
  const [{ id: former, items = [] } = {}] = restored(storageName);
  if (commands.recall(former, { items })) changed();
  else putBack(items, former);
  onChange = handler;
}
