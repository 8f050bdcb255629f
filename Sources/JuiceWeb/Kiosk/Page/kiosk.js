// The page: its screens, input handlers and updates.

import { addToBasket, isBasketEmpty, lackingOf, putBack, quantityOf, showBasket, watchBasket } from "/basket.js";
import { showAnswers, showBoard } from "/board.js";
import "/find.js";
import { placeCards, showCard, showCards } from "/cards.js";
import { setTime } from "/commands.js";
import { kinds } from "/kinds.js";
import { orderChanged, showOrders } from "/orders.js";
import { $, commands, isStore, known, menu, terminal, words } from "/state.js";
import { browser, keep, restored } from "/storage.js";
import { clearApplied, clearRows, focusRow, letIn, lock, showApplied, showRows, showStaff } from "/stock.js";
import { handlers, listen } from "/stream.js";
import "/scanner.js";
import "/terminal.js";
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
  const { answer, kind, refusal, state } = command;
  const [{ isForStaff }, isHere] = [kinds[kind], command.store === known.store];
  if (answer?.missing && isHere) askToEdit(answer);
  if (isForStaff && answer?.left && isHere) showApplied(answer);
  if (kind === "order" && isHere && (answer?.missing || state === "refused")) putBack(command.content.items);
  // The kiosk was restarted, and knows no session.
  if (isForStaff && refusal?.status === 401) {
    letIn(false);
    if (known.screen === "stock") $("token").focus();
  }
  orderChanged(command);
  showCard(command);
  showStock();
}

// MARK: A fruit is short

let missing = [];

// While it is open, the language cannot be changed.
function askToEdit(answer) {
  ({ missing } = answer);
  const canEdit = menu.secrets.length > 0;
  $("shortage-yes").hidden = !canEdit;
  $("shortage-no").textContent = words.text(canEdit ? "no" : "ok");
  $("shortage-text").textContent = words.text(canEdit ? "editQuestion" : "askStaff");
  $("shortage-detail").textContent = words.shortDetail(missing);
  if (!$("shortage").open) $("shortage").showModal();
}
$("shortage-yes").addEventListener("click", () => goTo("stock", missing[0].fruit));

// MARK: Screens

function goTo(screen, fruit = null) {
  known.shortFruit = fruit;
  if (location.hash !== `#${screen}`) history.pushState(null, "", `#${screen}`);
  showScreen();
  if (screen === "stock" && fruit) return commands.isStaff ? focusRow(fruit) : $("token").focus();
  $(`${screen}-title`).focus();
}

function showScreen() {
  const links = [...document.querySelectorAll("nav a:not([hidden])")];
  const screen = links.some((link) => link.hash === location.hash) ? location.hash.slice(1) : "order";
  // A question is about the screen that it was asked on.
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
  for (const one of ["order", "stock", "board"]) $(one).hidden = one !== screen;
  $("checkout").hidden = screen !== "order";
  known.screen = screen;
  for (const link of links) link.setAttribute("aria-current", link.hash === `#${screen}` ? "page" : "false");
  showStaff();
  showRows();
  showOrders();
  placeCards();
}
$("edit-link").hidden = menu.secrets.length === 0;
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

// The others are found by typing a part of their name.
const mostListed = 20;

function showStores() {
  const listed = known.stores.slice(0, mostListed);
  const names = listed.includes(known.store) ? listed : [known.store, ...listed];
  const options = names.map((value) => make("option", { text: storeName(value), value }));
  const hasOthers = !menu.hasFixedStores || known.stores.length > mostListed;
  if (hasOthers) options.push(make("option", { text: words.text("other"), value: "", "data-other": "", translate: "yes" }));
  $("store").replaceChildren(...options);
  $("all-stores").replaceChildren(...known.stores.map((value) => make("option", { value })));
  $("store").selectedIndex = names.indexOf(known.store);
}

function choose(store) {
  known.store = store;
  browser.write("juice-store", store);
  // After a reload the choice holds, not the link that led here.
  if (!terminal) history.replaceState(null, "", `/${location.hash}`);
  known.levels = new Map();
  known.takesOrders = true;
  clearRows();
  showStores();
  showStock();
  showCards();
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
  $("other-said").textContent = words.text(menu.hasFixedStores ? "noSuchStore" : "storeTooLong");
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
    button.show(words, lackingOf(button.juice), quantityOf(button.juice.id));
    button.element.disabled = !known.takesOrders;
  }
  $("no-store").hidden = known.takesOrders;
  showBasket();
  showRows();
}

function showLink() {
  $("link").textContent = words.text(known.link);
  $("link").dataset.state = known.link;
  const isAlert = ["lost", "unanswered", "unreachable", "heldBack"].includes(known.link);
  $("link").classList.toggle("is-alert", isAlert);
  const text = isAlert ? `${known.link}Alert` : known.version === menu.version ? null : "outdatedAlert";
  $("alert").textContent = text ? words.text(text) : "";
  $("alert").hidden = !text;
}

function showWords() {
  document.documentElement.lang = words.language;
  document.title = words.text("title");
  const all = (selector) => document.querySelectorAll(selector);
  for (const element of all("[data-text]")) element.textContent = words.text(element.dataset.text);
  for (const element of all("[data-label]")) element.setAttribute("aria-label", words.text(element.dataset.label));
  for (const button of all("[data-language]")) button.setAttribute("aria-pressed", button.dataset.language === words.language);
  clearApplied();
  for (const show of [showCards, showOrders, showStores, showStock, showBoard, showAnswers, showLink, showStaff]) show();
}
for (const button of document.querySelectorAll("[data-language]")) {
  button.addEventListener("click", () => {
    words.language = button.dataset.language;
    browser.write("juice-language", words.language);
    showWords();
    // Where there is room for one language only, the focus moves to the other.
    if (!button.offsetParent) document.querySelector("[data-language][aria-pressed=false]").focus();
  });
}

// MARK: Events

function setLink(state) {
  if (known.link === state) return;
  // Kafka is back: what could not be sent does not wait for the rest of its pause.
  if (known.link === "lost") commands.resend();
  known.link = state;
  showLink();
}

// Loads what the kiosk was restarted with, once no basket and no answer would be missed. Only once: two kiosks that differ may have
// one address.
function update() {
  const [{ version }, name] = [known, "juice-version"];
  if (version === menu.version || restored(name)[0] === version || !isBasketEmpty() || commands.open.size > 0) return;
  keep(name, [version]);
  location.reload();
}

Object.assign(handlers, {
  version: (event) => {
    known.version = event.version;
    showLink();
  },
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
    setTime(event.time);
    known.board = event;
    showBoard();
    update();
  },
  answers: (event) => {
    known.answers = event.answers;
    showAnswers();
  },
  own: (event) => commands.answered(event),
  unreachable: () => setLink("unreachable"),
  heldBack: () => setLink("heldBack"),
});

for (const command of commands.open.values()) {
  orderChanged(command);
  showCard(command);
}
showWords();
if (menu.isLocked) lock();
else letIn(menu.isStaff);
showScreen();
listen();
document.body.dataset.ready = "";
