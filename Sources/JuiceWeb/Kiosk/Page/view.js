// Creates elements. Data always becomes text, never markup.

import { plain } from "/words.js";

export function make(name, { className, text, ...attributes } = {}, ...children) {
  const space = ["svg", "rect", "line"].includes(name) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const element = document.createElementNS(space, name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.append(...children);
  return element;
}

const said = new WeakMap();

// Sets the text of a live region. Screen readers announce what is written there, even the same text again. What stands there is no
// measure: the browser may have translated it.
export function say(element, text) {
  if (said.get(element) === text) return;
  said.set(element, text);
  element.textContent = text;
}

// What was typed into a field as a number. Input methods have digits and signs of their own.
export const typed = ({ value }) => value.normalize("NFKC").replace(/[\u2010-\u2015\u2212]/g, "-").trim();

// A time of day, after its date unless that is today.
export function clock(time) {
  const [then, now] = [time, Date.now()].map((at) => new Date(at).toLocaleString("sv").split(" "));
  return then[0] === now[0] ? then[1] : then.join(" ");
}

// The colour of a fruit, by its place on the menu.
const tone = (index) => `var(--tone-${index % 8})`;

// A fruit on the shelf: its name, its count and a bar.
export class ShelfItem {
  constructor(index) {
    this.name = make("span", { className: "name", translate: "no" });
    this.count = make("span", { className: "count" });
    this.fill = make("span", { className: "fill" });
    this.element = make("li", { className: "fruit" }, this.name, this.count,
      make("span", { className: "track", "aria-hidden": "true" }, this.fill));
    this.element.style.setProperty("--tone", tone(index));
  }

  show(name, amount, text, full) {
    this.name.textContent = name;
    this.count.textContent = text;
    this.element.classList.toggle("is-out", amount === 0);
    this.fill.style.setProperty("--level", `${Math.min(100, (100 * amount) / full)}%`);
  }
}

// The button of a juice: a glass in the colours of its fruits, its name, its recipe, what it is short of, and how many are in the
// basket.
export class JuiceButton {
  constructor(juice, fruits, onPress) {
    this.juice = juice;
    this.name = make("span", { className: "name" });
    this.recipe = make("span", { className: "recipe", translate: "no" });
    this.state = make("span", { className: "state" });
    this.chosen = make("span", { className: "chosen" });
    const glass = make("span", { className: "glass", "aria-hidden": "true" });
    const total = juice.recipe.reduce((sum, part) => sum + part.amount, 0);
    let filled = 0;
    // A colour from 0 begins where the one below it ends.
    const stops = juice.recipe.map((part) => {
      filled += (100 * part.amount) / total;
      return `${tone(fruits.findIndex((fruit) => fruit.id === part.fruit))} 0 ${filled}%`;
    });
    glass.style.setProperty("--juice", `linear-gradient(to top, ${stops.join(", ")})`);
    this.element = make("button", { className: "juice", type: "button", "data-juice": juice.id },
      glass, make("span", { className: "about" }, this.name, this.recipe, this.state), this.chosen);
    this.element.addEventListener("click", onPress);
  }

  show(words, short, quantity) {
    this.name.textContent = words.juice(this.juice.id);
    this.recipe.textContent = words.recipe(this.juice.recipe);
    this.state.textContent = words.lacks(short);
    // Sighted people see the number; screen readers say what it counts.
    this.chosen.replaceChildren(...(quantity > 0 ? [
      make("span", { text: String(quantity), "aria-hidden": "true" }),
      make("span", { className: "hidden", text: words.text("inBasket", words.number(quantity)) }),
    ] : []));
    this.element.classList.toggle("is-short", short.length > 0);
  }
}

// A juice in the basket: its name, a field and steppers for how many, and a button that removes it.
export class BasketLine {
  quantity = 0;

  constructor(juice) {
    this.juice = juice;
    this.name = make("label", { className: "name", for: `basket-${juice}` });
    this.field = make("input", { id: `basket-${juice}`, type: "text", inputmode: "numeric", autocomplete: "off",
      maxlength: "4", "data-item": juice });
    this.less = make("button", { type: "button", text: "−" });
    this.more = make("button", { type: "button", text: "+" });
    this.remove = make("button", { className: "icon", type: "button", text: "×" });
    this.element = make("li", { className: "basket-line" }, this.name,
      make("div", { className: "stepper" }, this.less, this.field, this.more), this.remove);
  }

  // Only here is the field written: a stock event must not take away a digit that is being typed.
  set(quantity) { this.field.value = this.quantity = this.former = quantity; }

  show(words) {
    const name = words.juice(this.juice);
    this.name.textContent = name;
    this.less.setAttribute("aria-label", `${name} −1`);
    this.more.setAttribute("aria-label", `${name} +1`);
    this.remove.setAttribute("aria-label", words.text("removing", name));
  }
}

// One of the page's own orders, and a button that cancels it.
export class OwnOrder {
  constructor(onCancel) {
    this.time = make("time");
    this.store = make("bdi", { translate: "no" });
    this.text = make("span", { className: "text" });
    this.said = make("span", { className: "said" });
    this.cancel = make("button", { className: "quiet", type: "button" });
    this.cancel.addEventListener("click", onCancel);
    this.element = make("li", { className: "own-order" },
      make("span", { className: "head" }, this.time, this.store), this.text, this.said, this.cancel);
  }

  show(words, { store, items, state, cancel }, time) {
    const can = state === "open" || state === "made";
    this.element.dataset.state = state;
    this.time.textContent = time;
    this.store.textContent = plain(store);
    this.text.textContent = words.items(items);
    this.said.textContent = words.outcome(cancel);
    this.cancel.textContent = words.text(can ? "cancelOrder" : state);
    this.cancel.setAttribute("aria-label", `${this.cancel.textContent}: ${this.text.textContent}, ${time}`);
    // Not `disabled`: the button would lose the focus.
    this.cancel.setAttribute("aria-disabled", String(!can));
  }
}

// A fruit on the stock screen: its current count between steppers, a field for edits of several at once, and the last result.
export class StockRow {
  constructor(fruit, index) {
    this.fruit = fruit;
    this.name = make("label", { className: "name", for: `field-${index}`, translate: "no" });
    // Not an `output`: screen readers would announce every customer's order.
    this.count = make("span", { className: "count" });
    this.field = make("input", { id: `field-${index}`, type: "text", inputmode: "text", autocomplete: "off",
      maxlength: "11", "aria-describedby": `applied-${index}`, "data-fruit": fruit.id });
    this.less = make("button", { type: "button", text: "−" });
    this.more = make("button", { type: "button", text: "+" });
    this.applied = make("p", { id: `applied-${index}`, className: "applied", role: "status" });
    this.element = make("li", { className: "stock-row" }, this.name,
      make("div", { className: "stepper" }, this.less, this.count, this.more), this.field, this.applied);
    this.element.style.setProperty("--tone", tone(index));
  }

  // The number in the field; null if it is empty, undefined if it is invalid.
  get number() {
    const text = typed(this.field);
    if (text === "") return null;
    if (!/^[+-]?\d{1,10}$/.test(text) || Math.abs(Number(text)) > 1_000_000_000) return undefined;
    return Number(text);
  }
}

// Draws one bar per step, juices made above the axis and out of stock below it, and the scale.
export function drawChart(place, words, { made, outOfStock }) {
  const [width, height, gap] = [600, 140, 2];
  const step = width / made.length;
  const most = Math.max(4, ...made, ...outOfStock);
  const bar = (name) => (count, index) => {
    const size = (count / most) * (height / 2 - 1);
    const y = name === "good" ? height / 2 - 1 - size : height / 2 + 1;
    return make("rect", { x: index * step + gap / 2, width: step - gap, rx: 2, y, height: size, class: `is-${name}` });
  };
  place.replaceChildren(
    make("p", { className: "scale" }, ...[most, 0, most].map((count) => make("span", { text: words.number(count) }))),
    make("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      ...made.map(bar("good")), ...outOfStock.map(bar("bad")),
      make("line", { x1: 0, x2: width, y1: height / 2, y2: height / 2, class: "axis" })));
}
