// The state that all parts of the page share.

import { Commands, ask, setTime, storageName } from "/commands.js";
import { browser, forgetAll, restored } from "/storage.js";
import { Words } from "/words.js";

export const $ = (id) => document.getElementById(id);
const [file, settings] = await Promise.all(["menu", "settings"].map(async (name) => {
  const { by, status, body } = await ask(`/api/${name}`);
  // The script in the page's head then loads the page again.
  if (by !== "kiosk" || status !== 200) throw new Error(`/api/${name} has the status ${status}`);
  return body;
}));
// The menu, the stores to list first, and what the page may do.
export const menu = { ...file, ...settings };
setTime(menu.time);
for (const juice of menu.juices) juice.recipe = Object.entries(juice.recipe).map(([fruit, amount]) => ({ fruit, amount }));

// Whether the kiosk shows such a store: names have 1 to 128 bytes.
export const isStore = (name) => Boolean(name) && new TextEncoder().encode(name).length <= 128
  && (!menu.hasFixedStores || menu.stores.includes(name));

// Staff locked the page, and may not be signed out yet.
export const lockName = "juice-locked";
menu.isLocked = browser.read(lockName) === "yes";

const link = new URLSearchParams(location.search);
// After how many seconds without a touch the page starts over, on a public terminal. Such a page keeps nothing but what has no
// answer yet.
export const terminal = link.has("terminal") ? Number(link.get("terminal")) || 90 : null;
if (terminal && restored(storageName).length === 0) forgetAll();

export const known = {
  store: [link.get("store"), browser.read("juice-store"), menu.stores[0]].find(isStore),
  stores: [],
  levels: new Map(),
  // Whether orders for the store are accepted.
  takesOrders: true,
  screen: "order",
  link: "connecting",
  // The kiosk's, which differs from the page's once it was restarted with another menu, other settings or other files.
  version: menu.version,
  board: null,
  answers: [],
  // The fruit that the last order was short of; on the stock screen it gets the focus.
  shortFruit: null,
};
export const commands = new Commands(menu.duplicateWindow);

// In the visitor's choice of language, the kiosk's setting, or the browser's language.
export const words = new Words(menu,
  [browser.read("juice-language"), menu.language, ...navigator.languages.map((one) => one.slice(0, 2)), "en"]
    .find((one) => one === "en" || one === "ko"));
