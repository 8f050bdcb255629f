// A card for each command of this page: on its way, answered or refused.

import { classOf, isGood, kinds } from "/kinds.js";
import { $, commands, known, words } from "/state.js";
import { make, say } from "/view.js";
import { isolated } from "/words.js";

// More would cover a phone.
const mostShown = 3;
// How long good news is shown. The list of orders has it, too.
const shownFor = 10_000;
// By id: a command about another, whose id it has, takes its place.
const cards = new Map();

function cardText({ kind, state, content, answer, refusal }) {
  if (state === "stopped") return words.text(state);
  if (answer || state === "refused") return words.outcome({ answer, refusal });
  const sending = words.text(kinds[kind].text, words.items(content.items ?? []));
  return state === "unsent" ? `${sending} ${words.unsent(refusal)}` : sending;
}

function makeCard(command) {
  const card = {
    element: make("div"), text: make("p"),
    stop: make("button", { className: "quiet", type: "button" }),
    close: make("button", { className: "icon", type: "button", text: "×" }),
  };
  card.close.addEventListener("click", () => removeCard(command.id));
  card.stop.addEventListener("click", () => commands.stop(card.command));
  card.element.append(card.text, card.stop, card.close);
  // Whoever sends something has seen what came of the last.
  for (const old of [...cards.values()]) if (old.rank !== 1) removeCard(old.command.id);
  cards.set(command.id, card);
  $("mine").prepend(card.element);
  return card;
}

function removeCard(id) {
  const card = cards.get(id);
  if (!card) return;
  const hadFocus = card.element.contains(document.activeElement);
  card.element.remove();
  cards.delete(id);
  if (hadFocus) $(`${known.screen}-title`).focus({ preventScroll: true });
  placeCards();
}

// What went wrong comes first, then what is on its way, then good news.
function rankOf({ state, answer }) {
  if (answer && isGood(answer)) return 2;
  return ["answered", "refused", "stopped"].includes(state) ? 0 : 1;
}

export function showCard(command) {
  const rank = rankOf(command);
  const isQuiet = command.isQuiet && (rank === 2 || ["sending", "sent"].includes(command.state));
  const former = cards.get(command.id);
  if (former && kinds[former.command.kind].about === command.kind) return;
  if (command.state === "dropped" || isQuiet) return removeCard(command.id);
  const card = former ?? makeCard(command);
  Object.assign(card, { command, rank, changedAt: performance.now() });
  const { answer, state } = command;
  card.element.className = `answer-card ${answer ? classOf(answer) : state === "refused" ? "is-bad" : ""}`;
  card.element.dataset.state = answer?.type ?? state;
  const store = command.store === known.store ? "" : `${isolated(command.store)}: `;
  card.text.replaceChildren(make("span", { text: store, translate: "no" }), cardText(command));
  card.stop.textContent = words.text("stopSending");
  card.stop.hidden = command.state !== "unsent";
  card.close.setAttribute("aria-label", words.text("dismiss"));
  placeCards();
}

// Good news leaves after a while, but not from under the focus or a pointer.
const isOver = ({ rank, changedAt, element }) =>
  rank === 2 && performance.now() - changedAt > shownFor && !element.matches(":focus-within, :hover");

// Shows this screen's cards as far as there is room. Of the others, answers go, and what is on its way is counted.
export function placeCards() {
  const isHere = ({ command }) => kinds[command.kind].screen === known.screen;
  const here = [...cards.values()].filter(isHere).reverse().sort((one, other) => one.rank - other.rank);
  const [shown, rest] = [here.slice(0, mostShown), here.slice(mostShown)];
  for (const card of cards.values()) card.element.hidden = !shown.includes(card);
  const leaving = [...cards.values()].find(isOver) ?? rest.find((card) => card.rank !== 1);
  if (leaving) return removeCard(leaving.command.id);
  say($("more-cards"), rest.length > 0 ? words.text("moreCards", words.number(rest.length)) : "");
}

// Shows all cards again, in another language or for another store.
export function showCards() { for (const { command } of [...cards.values()]) showCard(command); }

setInterval(placeCards, 1000);
