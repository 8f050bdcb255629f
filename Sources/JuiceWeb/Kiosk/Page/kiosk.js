// The page: its screens, input handlers and updates.

import { addToBasket, lackingWith, putBack, quantityOf, showBasket, watchBasket } from "/basket.js";
import { showAnswers, showBoard } from "/board.js";
import "/find.js";
import { showCard, showCards } from "/cards.js";
import { orderChanged, showOrders } from "/orders.js";
import { $, commands, isStore, known, menu, speak, words } from "/state.js";
import { clearApplied, focusRow, letIn, showApplied, showRows, showStaff } from "/stock.js";
import { handle, listen } from "/stream.js";
import { JuiceButton, ShelfItem, make } from "/view.js";
import { storeName } from "/words.js";

commands.onChange = commandChanged;

// MARK: Orders

const shelf = menu.fruits.map((_, index) => new ShelfItem(index));
const juices = menu.juices.map((juice) => new JuiceButton(juice, menu.fruits, () => addToBasket(juice.id)));
$("shelf").append(...shelf.map((item) => item.element));
$("juices").append(...juices.map((button) => button.element));

watchBasket(showStock);

// MARK: Command results

function commandChanged(command) {
  const type = command.answer?.type;
  if (type === "outOfStock") askToEdit(command.answer);
  if (type === "restocked") showApplied(command.answer);
  const isUnmade = command.state === "refused" || type === "outOfStock";
  if (command.kind === "order" && command.store === known.store && isUnmade) putBack(command.content.items);
  // The kiosk was restarted, and knows no session.
  if (command.kind === "restock" && command.refusal?.status === 401) {
    letIn(false);
    if (known.screen === "stock") $("token").focus();
  }
  orderChanged(command);
  showCard(command);
  showStock();
}

// MARK: A fruit is short

let shortAnswer = null;

function askToEdit(answer) {
  shortAnswer = answer;
  showQuestion();
  if (!$("shortage").open) $("shortage").showModal();
}

function showQuestion() {
  $("shortage-yes").hidden = !menu.canEditStock;
  $("shortage-no").textContent = words.text(menu.canEditStock ? "no" : "ok");
  if (!shortAnswer) return;
  $("shortage-text").textContent = words.text(menu.canEditStock ? "editQuestion" : "askStaff");
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
    return commands.isStaff ? focusRow(fruit) : $("token").focus();
  }
  $(`${screen}-title`).focus();
}

function showScreen() {
  const asked = location.hash.slice(1);
  const screen = ["order", "stock", "board"].includes(asked) ? asked : "order";
  for (const one of ["order", "stock", "board"]) $(one).hidden = one !== screen;
  $("checkout").hidden = screen !== "order";
  known.screen = screen;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${screen}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  showStaff();
  showRows();
  showOrders();
}
for (const link of document.querySelectorAll("nav a")) {
  link.addEventListener("click", (event) => { event.preventDefault(); goTo(link.hash.slice(1)); });
}
addEventListener("popstate", showScreen);
// What has the focus is scrolled out from under the bar at the bottom.
new ResizeObserver(([dock]) => {
  document.documentElement.style.setProperty("--dock", `${dock.borderBoxSize[0].blockSize}px`);
}).observe($("dock"));
$("skip").addEventListener("click", (event) => { event.preventDefault(); $("main").focus(); });

// MARK: Stores

function showStores() {
  const names = known.stores.includes(known.store) ? known.stores : [known.store, ...known.stores];
  const options = names.map((name) => {
    const option = make("option", { text: storeName(name) });
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
  // After a reload the choice holds, not the link that led here.
  history.replaceState(null, "", `/${location.hash}`);
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
  if (isStore(name)) return choose(name);
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
  for (const button of juices) {
    const { id } = button.juice;
    button.show(words, lackingWith(button.juice), quantityOf(id));
    button.element.disabled = !known.takesOrders;
  }
  $("no-store").hidden = known.takesOrders;
  showBasket();
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
  clearApplied();
  for (const show of [
    showCards, showOrders, showStores, showStock, showBoard, showAnswers, showLink, showQuestion, showStaff,
  ]) show();
}
for (const button of document.querySelectorAll("[data-language]")) {
  button.addEventListener("click", () => {
    speak(button.dataset.language);
    showWords();
    // Where there is room for one language only, the focus moves to the other.
    if (!button.offsetParent) document.querySelector("[data-language][aria-pressed=false]").focus();
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
  answers: (event) => {
    known.answers = event.answers;
    showAnswers();
  },
  own: (event) => commands.answered(event),
  unreachable: () => setLink("unreachable"),
});

for (const command of commands.open.values()) {
  orderChanged(command);
  showCard(command);
}
showWords();
letIn(menu.isStaff);
showScreen();
listen();
document.body.dataset.ready = "";
