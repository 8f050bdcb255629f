// The kinds of commands and the types of answers: all that the page knows of each.

// With a kind's topic, the member that has the id, the screen of its cards, and a card's text without an answer.
export const kinds = {
  order: { topic: "orders", id: "orderId", screen: "order", text: "ordering" },
  cancel: { topic: "orders", id: "orderId", screen: "order", text: "cancelling" },
  restock: { topic: "restocks", id: "restockId", screen: "stock", text: "editing", isForStaff: true },
};
// A cancel has its order's id.
export const kindOf = ({ type, cancel, restockId }) =>
  (restockId ? "restock" : cancel || type === "cancelled" ? "cancel" : "order");

// The classes of cards and of lines on the board.
const classes = {
  juiceMade: "is-good", restocked: "is-good is-edit", cancelled: "is-good is-edit", outOfStock: "is-bad", rejected: "is-bad",
};
export const classOf = ({ type }) => classes[type] ?? "";
export const isGood = (answer) => classOf(answer).startsWith("is-good");
