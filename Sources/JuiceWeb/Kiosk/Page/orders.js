// The page's own orders, each with a cancel for as long as the service can return its fruits. They survive a reload.

import { now } from "/commands.js";
import { $, commands, known, menu, words } from "/state.js";
import { keep, restored } from "/storage.js";
import { OwnOrder, clock } from "/view.js";

const storageName = "juice-orders";
// The oldest are dropped first.
const mostOrders = 500;
const rows = new Map();
// By id, oldest first. The state of an order is open (its answer is not known), made, cancelling, cancelled, or kept: its
// cancel was rejected. An order also has whether it was made, once that is known, and how its cancel ended: its answer or its
// refusal.
const orders = new Map(restored(storageName).map((order) => [order.id, order]));

// Follows the page's orders and cancels.
export function orderChanged(command) {
  if (command.kind === "order") follow(command);
  if (command.kind === "cancel") followCancel(command);
  showOrders();
}

function follow({ id, store, content, at, state, answer }) {
  const order = orders.get(id);
  if (!order) {
    if (state === "sending") orders.set(id, { id, store, items: content.items, at, state: "open" });
  } else if (answer || state === "refused") {
    order.isMade = answer?.type === "juiceMade" || answer?.was === "made";
    if (order.state === "open") settle(order);
  }
}

// Shows an order as what it is without a cancel.
function settle(order) {
  order.state = order.isMade ? "made" : "open";
  // It was not made, so there is nothing to cancel.
  if (order.isMade === false) orders.delete(order.id);
}

function followCancel({ id, state, answer, refusal }) {
  const order = orders.get(id);
  if (!order) return;
  const isDone = ["answered", "refused", "stopped"].includes(state);
  if (isDone) order.cancel = answer ? { answer } : state === "refused" ? { refusal } : {};
  if (!isDone) order.state = "cancelling";
  // A repeat of the cancel would get the same answer.
  else if (answer) order.state = answer.type === "cancelled" || answer.was === "cancelled" ? "cancelled" : "kept";
  else settle(order);
  // A cancelled id is dead, so its order needs no answer.
  if (order.state === "cancelled") commands.drop("order", id);
}

function makeRow(order) {
  const row = new OwnOrder(() => {
    if (order.state === "open" || order.state === "made") commands.send("cancel", order.store, { cancel: true }, { id: order.id });
  });
  rows.set(order.id, row);
  $("own-orders").prepend(row.element);
  return row;
}

export function showOrders() {
  const oldest = now() - menu.duplicateWindow * 1000;
  for (const order of [...orders.values()]) {
    if (order.at < oldest || orders.size > mostOrders) orders.delete(order.id);
  }
  for (const [id, row] of rows) {
    if (orders.has(id)) continue;
    if (row.element.contains(document.activeElement)) $("orders-title").focus();
    row.element.remove();
    rows.delete(id);
  }
  for (const order of orders.values()) {
    (rows.get(order.id) ?? makeRow(order)).show(words, order, clock(order.at));
  }
  $("orders").hidden = orders.size === 0 || known.screen !== "order";
  keep(storageName, [...orders.values()]);
}

setInterval(showOrders, 10_000);
