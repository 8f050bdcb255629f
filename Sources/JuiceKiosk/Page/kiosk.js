// The page: holds what is known, shows it, and listens.

import { Commands } from "/commands.js";
import { JuiceButton, ShelfItem, StockRow, drawChart, make } from "/view.js";
import { Words } from "/words.js";

const $ = (id) => document.getElementById(id);
const menu = await (await fetch("/api/menu")).json();
const wide = matchMedia("(min-width: 1180px)");

const known = {
  language: ["en", "ko"].find((one) => one === localStorage.getItem("juice-language")) ?? menu.language,
  store: new URLSearchParams(location.search).get("store") ?? localStorage.getItem("juice-store"),
  scope: "all",
  stores: [],
  levels: new Map(),
  quantity: 1,
  link: "connecting",
  board: null,
  answers: [],
  heardAt: Date.now(),
};
let words = new Words(menu, known.language);
let stream = null;
const cards = new Map();
const pressedAt = new Map();
const commands = new Commands(commandChanged);

// MARK: Orders

const shelf = menu.fruits.map((_, index) => new ShelfItem(index));
const juices = menu.juices.map((juice) => new JuiceButton(juice, menu.fruits, () => press(juice)));
$("shelf").append(...shelf.map((item) => item.element));
$("juices").append(...juices.map((button) => button.element));

function press(juice) {
  // The second half of a double click is no second order.
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

// MARK: What became of commands

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
    case "refused": return words.refused(command.refusal);
    case "unsent": return words.unsent();
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
    // What is answered makes way; what waits for its answer stays.
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

let shortFruit = null;
let shortAnswer = null;

function askToEdit(answer) {
  [shortFruit, shortAnswer] = [answer.missing[0].fruit, answer];
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
  goTo("stock", shortFruit);
});

// MARK: The stock screen

const rows = menu.fruits.map((fruit, index) => new StockRow(fruit, index));
$("rows").append(...rows.map((row) => row.element));

for (const row of rows) {
  const step = (by) => {
    const start = mode() === "set" ? known.levels.get(row.fruit.id) ?? 0 : 0;
    const value = (row.number ?? start) + by;
    row.field.value = mode() === "set" ? String(Math.max(0, value)) : value > 0 ? `+${value}` : String(value);
  };
  row.less.addEventListener("click", () => step(-1));
  row.more.addEventListener("click", () => step(1));
  row.field.addEventListener("keydown", (event) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    step(by);
  });
}

const mode = () => new FormData($("edit")).get("mode") ?? "add";

$("mode").addEventListener("change", () => {
  for (const row of rows) row.field.value = "";
  showStock();
});

$("edit").addEventListener("submit", (event) => {
  event.preventDefault();
  const amounts = {};
  for (const row of rows) {
    const number = row.number;
    row.field.setAttribute("aria-invalid", String(number === undefined));
    if (number === undefined) {
      row.applied.textContent = words.text("badNumber");
      row.field.focus();
      return;
    }
    if (number !== null && !(mode() === "add" && number === 0)) amounts[row.fruit.id] = number;
  }
  if (Object.keys(amounts).length === 0) {
    rows[0].applied.textContent = words.text("nothingToApply");
    rows[0].field.focus();
    return;
  }
  for (const row of rows) row.applied.textContent = "";
  commands.send("restock", known.store, { [mode()]: amounts });
});

// The levels that the answer names: applied, not assumed.
function showApplied(answer) {
  if (answer.store !== known.store || answer.type !== "restocked") return;
  for (const row of rows) {
    const left = answer.left.find((one) => one.fruit === row.fruit.id);
    if (!left) continue;
    row.applied.textContent = words.applied(left.amount);
    row.field.value = "";
  }
}

$("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const token = $("token").value.trim();
  let said = "tokenRefused";
  try {
    // What no header can hold is no token.
    if (!/^[\x21-\x7e]+$/.test(token)) throw undefined;
    const response = await fetch("/api/staff", {
      method: "POST", headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` }, body: "{}",
    });
    if (response.ok) said = "signedIn";
  } catch (error) {
    if (error !== undefined) said = "notReached";
  }
  $("sign-in-said").dataset.said = said;
  $("sign-in-said").textContent = words.text(said);
  if (said !== "signedIn") return $("token").select();
  $("token").value = "";
  commands.token = token;
  showStaff();
  commands.resend();
  focusRow(shortFruit);
});

$("lock").addEventListener("click", () => {
  commands.token = null;
  delete $("sign-in-said").dataset.said;
  $("sign-in-said").textContent = "";
  showStaff();
  $("token").focus();
});

function showStaff() {
  const isIn = commands.token !== null;
  $("editing-off").hidden = menu.canEditStock;
  $("sign-in").hidden = !menu.canEditStock || isIn;
  for (const element of $("edit").querySelectorAll("input, button")) element.disabled = !isIn;
  $("edit").classList.toggle("is-locked", !isIn);
}

function focusRow(fruit) {
  const row = rows.find((one) => one.fruit.id === fruit) ?? rows[0];
  row.element.scrollIntoView({ block: "center" });
  row.field.focus();
}

$("close-stock").addEventListener("click", () => goTo("order"));

// MARK: Screens

function goTo(screen, fruit = null) {
  shortFruit = fruit;
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
  for (const row of rows) {
    row.element.classList.toggle("is-wanted", isStock && row.fruit.id === shortFruit);
  }
}
for (const link of document.querySelectorAll("nav a")) {
  link.addEventListener("click", (event) => { event.preventDefault(); goTo(link.hash.slice(1)); });
}
addEventListener("popstate", showScreen);
wide.addEventListener("change", showScreen);
$("skip").addEventListener("click", (event) => { event.preventDefault(); $("main").focus(); });

// MARK: Stores

function showStores() {
  const names = [...new Set([...(known.store === null ? [] : [known.store]), ...known.stores])];
  const options = names.map((name) => {
    const option = make("option", { text: name });
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
  for (const row of rows) row.applied.textContent = "";
  showStores();
  showStock();
  listen();
}

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

// MARK: What is shown

function showStock() {
  const full = Math.max(20, ...known.levels.values());
  const isKnown = known.levels.size > 0;
  menu.fruits.forEach((fruit, index) => {
    const amount = known.levels.get(fruit.id) ?? 0;
    const text = isKnown ? words.count(amount) : "–";
    shelf[index].show(words.fruit(fruit.id), isKnown ? amount : -1, text, full);
    rows[index].name.textContent = words.fruit(fruit.id);
    rows[index].count.textContent = text;
    rows[index].field.placeholder = mode() === "set" && isKnown ? String(amount) : "±0";
    rows[index].less.setAttribute("aria-label", `${words.fruit(fruit.id)} −1`);
    rows[index].more.setAttribute("aria-label", `${words.fruit(fruit.id)} +1`);
  });
  const levels = isKnown ? known.levels : new Map(menu.fruits.map((fruit) => [fruit.id, Infinity]));
  for (const button of juices) {
    const waiting = commands.waiting(known.store, button.juice.id);
    button.show(words, levels, known.quantity, waiting !== undefined && !waiting.isLate);
  }
  $("quantity").textContent = String(known.quantity);
}

function showBoard() {
  const board = known.board;
  if (!board) return;
  const sum = (counts) => counts.reduce((total, count) => total + count, 0);
  const [made, short] = [sum(board.made), sum(board.outOfStock)];
  $("rate").textContent = words.number(board.rate, board.rate < 10 ? 1 : 0);
  $("lag").textContent = board.lag === undefined ? "–" : words.number(board.lag);
  $("lag").title = board.lag === undefined ? words.text("unknown") : "";
  $("made").textContent = words.number(made);
  $("short").textContent = words.number(short);
  $("chart").setAttribute("aria-label", words.chartSummary(made, short));
  drawChart($("chart"), board);
}

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

function answerLine(answer) {
  const time = clock.format(answer.time);
  const head = make("span", { className: "head" }, make("time", { text: time }), make("b", { text: answer.store }));
  if (answer.duplicate) head.append(make("i", { text: words.text("repeated") }));
  return make("li", { className: `is-${answer.type}` }, head, make("span", { className: "text", text: words.line(answer) }));
}

function showAnswers() {
  const lines = known.answers.map(answerLine).reverse();
  $("answers").replaceChildren(...(lines.length > 0 ? lines : [make("li", { text: words.text("noAnswers") })]));
}

function showLink() {
  $("link").textContent = words.text(known.link);
  $("link").dataset.state = known.link;
  const isAlert = known.link === "lost" || known.link === "unreachable";
  $("alert").textContent = isAlert ? words.text(`${known.link}Alert`) : "";
  $("alert").hidden = !isAlert;
}

function showWords() {
  words = new Words(menu, known.language);
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
  for (const row of rows) row.applied.textContent = "";
  for (const show of [showStores, showStock, showBoard, showAnswers, showLink, showQuestion]) show();
}
for (const button of document.querySelectorAll("[data-language]")) {
  button.addEventListener("click", () => {
    known.language = button.dataset.language;
    localStorage.setItem("juice-language", known.language);
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

// MARK: Listening

function setLink(state) {
  if (known.link === state) return;
  known.link = state;
  showLink();
}

const handlers = {
  link: (event) => setLink(event.state),
  stores: (event) => {
    known.stores = event.stores;
    showStores();
  },
  stock: (event) => {
    if (event.store !== known.store) return;
    known.levels = new Map(event.stock.map((one) => [one.fruit, one.amount]));
    showStock();
  },
  board: (event) => {
    known.board = event;
    showBoard();
  },
  answer: (event) => {
    known.answers = [...known.answers, event].slice(-30);
    showAnswers();
    commands.answered(event);
  },
  own: (event) => commands.answered(event),
};

function listen() {
  stream?.close();
  known.heardAt = Date.now();
  // Not by URLSearchParams, which writes a space as it is written in forms alone.
  const asked = Object.entries({ store: known.store, scope: known.scope, page: commands.page })
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const opened = new EventSource(`/api/events?${asked.join("&")}`);
  stream = opened;
  opened.addEventListener("open", () => {
    known.answers = [];
    showAnswers();
    commands.resend();
  });
  opened.addEventListener("error", () => { if (stream === opened) setLink("unreachable"); });
  for (const [name, handle] of Object.entries(handlers)) {
    opened.addEventListener(name, (event) => {
      if (stream !== opened) return;
      known.heardAt = Date.now();
      handle(JSON.parse(event.data));
    });
  }
}

// A kiosk that is there says something every second. A connection can be gone without anybody being told.
setInterval(() => {
  if (Date.now() - known.heardAt < 6000) return;
  setLink("unreachable");
  listen();
}, 1000);

if (menu.hasFixedStores && !menu.stores.includes(known.store)) known.store = menu.stores[0];
known.store ??= "main";
for (const command of commands.open.values()) showCard(command);
showWords();
showScope();
showStaff();
showScreen();
listen();
document.body.dataset.ready = "";
