// The page's own orders, each with a cancel for as long as the service can return its fruits. They survive a reload.

import { now } from "/commands.js";
import { isGood } from "/kinds.js";
import { $, commands, known, menu, words } from "/state.js";
import { keep, restored } from "/storage.js";
import { OwnOrder, clock } from "/view.js";

const storageName = "juice-orders";
// The oldest are dropped first.
const mostOrders = 500;
const rows = new Map();
// By id, oldest first. An order has whether it was made, once that is known, and the state of its cancel, if it has one, with the
// answer or the refusal.
const orders = new Map(restored(storageName).map((order) => [order.id, order]));

// Whether a command was carried out, now or at an earlier try.
const isDone = (answer, former) => isGood(answer) || answer.was === former;

// Open (the answer is not known), made, cancelling, cancelled, or kept: the cancel was rejected, and a repeat would be, too.
function stateOf({ isMade, cancel }) {
  if (cancel?.answer) return isDone(cancel.answer, "cancelled") ? "cancelled" : "kept";
  return cancel && !["refused", "stopped"].includes(cancel.state) ? "cancelling" : isMade ? "made" : "open";
}

// Follows the page's orders and cancels.
export function orderChanged({ kind, id, store, content, at, state, answer, refusal }) {
  const order = orders.get(id);
  if (kind === "order" && !order && state === "sending") orders.set(id, { id, store, items: content.items, at });
  if (kind === "order" && order && (answer || state === "refused")) order.isMade = Boolean(answer) && isDone(answer, "made");
  if (kind === "cancel" && order) {
    order.cancel = { state, answer, refusal: state === "refused" ? refusal : null };
    // A cancelled id is dead, so its order needs no answer.
    if (stateOf(order) === "cancelled") commands.drop("order", id);
  }
  showOrders();
}

function makeRow(order) {
  const row = new OwnOrder(() => {
    if (["open", "made"].includes(stateOf(order))) commands.send("cancel", order.store, { cancel: true }, { id: order.id });
  });
  rows.set(order.id, row);
  $("own-orders").prepend(row.element);
  return row;
}

export function showOrders() {
  const oldest = now() - menu.duplicateWindow * 1000;
  for (const order of [...orders.values()]) {
    // An order that was not made has nothing to cancel.
    const isUnmade = order.isMade === false && stateOf(order) === "open";
    if (isUnmade || order.at < oldest || orders.size > mostOrders) orders.delete(order.id);
  }
  for (const [id, row] of rows) {
    if (orders.has(id)) continue;
    if (row.element.contains(document.activeElement)) $("orders-title").focus();
    row.element.remove();
    rows.delete(id);
  }
  for (const order of orders.values()) {
    (rows.get(order.id) ?? makeRow(order)).show(words, { ...order, state: stateOf(order) }, clock(order.at));
  }
  $("orders").hidden = orders.size === 0 || known.screen !== "order";
  keep(storageName, [...orders.values()]);
}

setInterval(showOrders, 10_000);
