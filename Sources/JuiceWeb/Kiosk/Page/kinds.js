// The kinds of commands and the types of answers: all that the page knows of each.

// With a kind's topic, the member that has the id, the screen of its cards, a card's text without an answer, and the kind whose
// commands it is about: it has their ids.
export const kinds = {
  order: { topic: "orders", id: "orderId", screen: "order", text: "ordering" },
  cancel: { topic: "orders", id: "orderId", screen: "order", text: "cancelling", about: "order" },
  restock: { topic: "restocks", id: "restockId", screen: "stock", text: "editing", isForStaff: true },
};
export const kindOf = ({ type, cancel, restockId }) =>
  (restockId ? "restock" : cancel || type === "cancelled" ? "cancel" : "order");

// The classes of cards and of lines on the board.
const classes = {
  juiceMade: "is-good", restocked: "is-good is-edit", cancelled: "is-good is-edit", outOfStock: "is-bad", rejected: "is-bad",
};
export const classOf = ({ type }) => classes[type] ?? "";
export const isGood = (answer) => classOf(answer).startsWith("is-good");
