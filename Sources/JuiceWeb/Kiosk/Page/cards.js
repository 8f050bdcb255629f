// A card for each command of this page: on its way, answered or refused.

import { itemsOfOrder } from "/orders.js";
import { $, commands, known, words } from "/state.js";
import { make } from "/view.js";

// More would cover a phone; the list of orders has the others.
const mostDone = 1;
const cards = new Map();

function cardText(command) {
  switch (command.state) {
    case "answered": return words.answer(command.answer);
    case "refused": return words.refused(command.refusal.code);
    case "unsent": return words.unsent();
    case "limited": return words.limited(command.refusal.wait);
    case "late": return words.late();
    default: return sendingText(command);
  }
}

function sendingText(command) {
  switch (command.kind) {
    case "order": return words.ordering(command.content.items);
    case "cancel": return words.cancelling(itemsOfOrder(command.id) ?? []);
    default: return words.editing();
  }
}

function makeCard(command) {
  const card = {
    element: make("div", { className: "answer-card" }), text: make("p"),
    again: make("button", { className: "quiet", type: "button" }), close: make("button", { className: "icon", type: "button" }),
  };
  card.close.textContent = "×";
  card.close.addEventListener("click", () => removeCard(command.key));
  card.again.addEventListener("click", () => commands.askAgain(command));
  card.element.append(card.text, card.again, card.close);
  cards.set(command.key, card);
  $("mine").prepend(card.element);
  // Keep all without an answer.
  const old = [...cards.entries()].filter(([, one]) => one.isDone).slice(0, Math.max(0, cards.size - mostDone));
  for (const [key] of old) removeCard(key);
  return card;
}

function removeCard(key) {
  const element = cards.get(key)?.element;
  const hadFocus = element?.contains(document.activeElement);
  element?.remove();
  cards.delete(key);
  if (hadFocus) $(`${known.screen}-title`).focus({ preventScroll: true });
}

export function showCard(command) {
  const isGood = ["sending", "sent"].includes(command.state) || command.answer?.type === "restocked";
  if (command.state === "dropped" || command.isQuiet && isGood) return removeCard(command.key);
  const card = cards.get(command.key) ?? makeCard(command);
  card.command = command;
  card.isDone = command.state === "answered" || command.state === "refused";
  const kind = command.state === "answered" ? command.answer.type : command.state;
  card.element.className = `answer-card is-${kind}`;
  card.element.dataset.state = kind;
  card.text.textContent = cardText(command);
  card.again.textContent = words.text("askAgain");
  card.again.hidden = command.state !== "late";
  card.close.setAttribute("aria-label", words.text("dismiss"));
}

// Shows all cards again, in another language.
export function showCards() { for (const { command } of [...cards.values()]) showCard(command); }
