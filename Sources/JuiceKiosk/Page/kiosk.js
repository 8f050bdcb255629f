// The page: its screens, input handlers and updates.

import { showAnswers, showBoard } from "/board.js";
import "/find.js";
import { $, commands, known, menu, speak, words } from "/state.js";
import { clearApplied, focusRow, showApplied, showRows, showStaff } from "/stock.js";
import { handle, listen } from "/stream.js";
import { JuiceButton, ShelfItem, make } from "/view.js";
import { plain } from "/words.js";

const wide = matchMedia("(min-width: 1180px)");
const cards = new Map();
const pressedAt = new Map();
commands.onChange = commandChanged;

// MARK: Orders

const shelf = menu.fruits.map((_, index) => new ShelfItem(index));
const juices = menu.juices.map((juice) => new JuiceButton(juice, menu.fruits, () => press(juice)));
$("shelf").append(...shelf.map((item) => item.element));
$("juices").append(...juices.map((button) => button.element));

function press(juice) {
  // Ignore the second click of a double click.
  const now = performance.now();
  if (now - (pressedAt.get(juice.id) ?? -Infinity) < 500) return;
  pressedAt.set(juice.id, now);
  const waiting = commands.waiting(known.store, juice.id);
  if (waiting) {
    if (waiting.isLate) commands.askAgain(waiting);
    return;
  }
  commands.send("order", known.store, { juice: juice.id, quantity: known.quantity });
}

function setQuantity(quantity) {
  known.quantity = Math.min(100, Math.max(1, quantity));
  showStock();
}
$("fewer").addEventListener("click", () => setQuantity(known.quantity - 1));
$("more").addEventListener("click", () => setQuantity(known.quantity + 1));

// MARK: Command results

function commandChanged(command) {
  if (command.state === "answered") answered(command);
  showCard(command);
  showStock();
}

function answered({ answer }) {
  if (answer.type === "outOfStock") askToEdit(answer);
  if (answer.kind === "restock") showApplied(answer);
}

function cardText(command) {
  switch (command.state) {
    case "answered": return words.answer(command.answer);
    case "refused": return words.refused(command.refusal.code);
    case "unsent": return words.unsent();
    case "limited": return words.limited(command.refusal.code, command.refusal.wait);
    case "late": return words.late();
    default:
      return command.kind === "order"
        ? words.ordering(command.content.juice, command.content.quantity) : words.editing();
  }
}

function showCard(command) {
  let card = cards.get(command.id);
  if (!card) {
    card = { element: make("div", { className: "answer-card" }), text: make("p"), close: make("button", { type: "button" }) };
    card.close.className = "icon";
    card.close.textContent = "×";
    card.close.addEventListener("click", () => { card.element.remove(); cards.delete(command.id); });
    card.element.append(card.text, card.close);
    cards.set(command.id, card);
    $("mine").prepend(card.element);
    // Remove the oldest finished cards; keep those without an answer.
    const old = [...cards.entries()].filter(([, one]) => one.isDone).slice(0, Math.max(0, cards.size - 3));
    for (const [id, one] of old) { one.element.remove(); cards.delete(id); }
  }
  card.command = command;
  card.isDone = command.state === "answered" || command.state === "refused";
  const kind = command.state === "answered" ? command.answer.type : command.state;
  card.element.className = `answer-card is-${kind}`;
  card.element.dataset.state = kind;
  card.text.textContent = cardText(command);
  card.close.setAttribute("aria-label", words.text("dismiss"));
}

// MARK: A fruit is short

let shortAnswer = null;

function askToEdit(answer) {
  shortAnswer = answer;
  showQuestion();
  if (!$("shortage").open) $("shortage").showModal();
}

function showQuestion() {
  if (!shortAnswer) return;
  $("shortage-text").textContent = words.shortQuestion(shortAnswer.missing);
  $("shortage-detail").textContent = words.shortDetail(shortAnswer.missing);
}
$("shortage-no").addEventListener("click", () => $("shortage").close());
$("shortage-yes").addEventListener("click", () => {
  $("shortage").close();
  goTo("stock", shortAnswer.missing[0].fruit);
});

// MARK: Screens

function goTo(screen, fruit = null) {
  known.shortFruit = fruit;
  if (location.hash !== `#${screen}`) history.pushState(null, "", `#${screen}`);
  showScreen();
  if (screen === "stock" && fruit) {
    return commands.token === null ? $(menu.canEditStock ? "token" : "stock-title").focus() : focusRow(fruit);
  }
  $(`${screen}-title`).focus();
}

function showScreen() {
  const asked = location.hash.slice(1);
  const screen = ["order", "stock", "board"].includes(asked) ? asked : "order";
  const isStock = screen === "stock";
  $("order").hidden = isStock || (screen === "board" && !wide.matches);
  $("stock").hidden = !isStock;
  $("board").hidden = screen !== "board" && !wide.matches;
  document.body.dataset.screen = screen;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${screen}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  showRows();
}
for (const link of document.querySelectorAll("nav a")) {
  link.addEventListener("click", (event) => { event.preventDefault(); goTo(link.hash.slice(1)); });
}
addEventListener("popstate", showScreen);
wide.addEventListener("change", showScreen);
$("skip").addEventListener("click", (event) => { event.preventDefault(); $("main").focus(); });
$("close-stock").addEventListener("click", () => goTo("order"));

// MARK: Stores

function showStores() {
  const names = known.stores.includes(known.store) ? known.stores : [known.store, ...known.stores];
  const options = names.map((name) => {
    const option = make("option", { text: plain(name) });
    option.value = name;
    return option;
  });
  if (!menu.hasFixedStores) options.push(make("option", { text: words.text("other"), value: "", "data-other": "" }));
  $("store").replaceChildren(...options);
  $("store").selectedIndex = names.indexOf(known.store);
}

function choose(store) {
  known.store = store;
  localStorage.setItem("juice-store", store);
  known.levels = new Map();
  known.takesOrders = true;
  clearApplied();
  showStores();
  showStock();
  listen();
}

$("store").addEventListener("blur", showStores);
$("store").addEventListener("change", () => {
  const option = $("store").selectedOptions[0];
  if (!("other" in option.dataset)) return choose(option.value);
  showStores();
  $("other-name").value = "";
  $("other-said").textContent = "";
  $("other").showModal();
});
$("other-form").addEventListener("submit", (event) => {
  const name = $("other-name").value;
  const length = new TextEncoder().encode(name).length;
  if (length >= 1 && length <= 128) return choose(name);
  event.preventDefault();
  $("other-said").textContent = words.text("storeTooLong");
});
$("other-no").addEventListener("click", () => $("other").close());

// MARK: Rendering

function showStock() {
  const full = Math.max(20, ...known.levels.values());
  const isKnown = known.levels.size > 0;
  menu.fruits.forEach((fruit, index) => {
    const amount = known.levels.get(fruit.id) ?? 0;
    const text = isKnown ? words.count(amount) : "–";
    shelf[index].show(words.fruit(fruit.id), isKnown ? amount : -1, text, full);
  });
  const levels = isKnown ? known.levels : new Map(menu.fruits.map((fruit) => [fruit.id, Infinity]));
  for (const button of juices) {
    const waiting = commands.waiting(known.store, button.juice.id);
    button.show(words, levels, known.quantity, waiting !== undefined && !waiting.isLate);
    button.element.disabled = !known.takesOrders;
  }
  $("no-store").hidden = known.takesOrders;
  $("quantity").textContent = String(known.quantity);
  showRows();
}

function showLink() {
  $("link").textContent = words.text(known.link);
  $("link").dataset.state = known.link;
  const isAlert = known.link === "lost" || known.link === "unreachable";
  $("alert").textContent = isAlert ? words.text(`${known.link}Alert`) : "";
  $("alert").hidden = !isAlert;
}

function showWords() {
  document.documentElement.lang = known.language;
  document.title = words.text("title");
  for (const element of document.querySelectorAll("[data-text]")) {
    element.textContent = words.text(element.dataset.text);
  }
  for (const element of document.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", words.text(element.dataset.label));
  }
  for (const button of document.querySelectorAll("[data-language]")) {
    button.setAttribute("aria-pressed", String(button.dataset.language === known.language));
  }
  if ($("sign-in-said").dataset.said) $("sign-in-said").textContent = words.text($("sign-in-said").dataset.said);
  for (const { command } of [...cards.values()]) showCard(command);
  clearApplied();
  for (const show of [showStores, showStock, showBoard, showAnswers, showLink, showQuestion]) show();
}
for (const button of document.querySelectorAll("[data-language]")) {
  button.addEventListener("click", () => {
    speak(button.dataset.language);
    showWords();
  });
}

function showScope() {
  for (const button of document.querySelectorAll("[data-scope]")) {
    button.setAttribute("aria-pressed", String(button.dataset.scope === known.scope));
  }
}
for (const button of document.querySelectorAll("[data-scope]")) {
  button.addEventListener("click", () => {
    known.scope = button.dataset.scope;
    showScope();
    listen();
  });
}

// MARK: Events

function setLink(state) {
  if (known.link === state) return;
  known.link = state;
  showLink();
}

handle({
  link: (event) => setLink(event.state),
  stores: (event) => {
    known.stores = event.stores;
    // Replacing the options would close an open list.
    if (document.activeElement !== $("store")) showStores();
  },
  stock: (event) => {
    if (event.store !== known.store) return;
    known.levels = new Map(event.stock.map((one) => [one.fruit, one.amount]));
    known.takesOrders = event.takesOrders;
    showStock();
  },
  board: (event) => {
    known.board = event;
    showBoard();
  },
  answer: (event) => {
    known.answers = [...known.answers, event].slice(-30);
    showAnswers();
  },
  own: (event) => commands.answered(event),
  opened: () => {
    known.answers = [];
    showAnswers();
  },
  unreachable: () => setLink("unreachable"),
});

for (const command of commands.open.values()) showCard(command);
showWords();
showScope();
showStaff();
showScreen();
listen();
document.body.dataset.ready = "";
