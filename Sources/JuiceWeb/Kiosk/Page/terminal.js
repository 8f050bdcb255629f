// A public terminal, whose page is opened with ?terminal, or ?terminal=SECONDS: left alone for that long, it starts over for the
// next visitor. What has no answer yet would be lost with the page, so it waits for that while it can be sent.

import { $, commands, menu, terminal } from "/state.js";
import { lock } from "/stock.js";

const warning = Math.min(20_000, terminal * 500);
// When somebody touched the page last; null if there is nothing to start over.
let touchedAt = commands.open.size > 0 || menu.isStaff ? performance.now() : null;

function touched() {
  touchedAt = performance.now();
  $("idle").close();
}

// Also loads the page if it is on screen already, with another hash.
const startOver = () => location.replace(location.pathname + location.search);

async function check() {
  const open = [...commands.open.values()];
  if (touchedAt === null || open.some((command) => !commands.isOver(command))) return;
  const left = touchedAt + terminal * 1000 - performance.now();
  if (left < warning && !$("idle").open) $("idle").showModal();
  // A browser that does not reach the kiosk would show an error in place of the page.
  if (left > 0 || !await lock()) return;
  touchedAt = null;
  for (const command of open) commands.stop(command);
  startOver();
}

if (terminal) {
  for (const name of ["pointerdown", "keydown", "wheel"]) addEventListener(name, touched, { capture: true, passive: true });
  setInterval(check, Math.min(1000, warning / 2));
  // A page that the browser kept shows what the last visitor did.
  addEventListener("pageshow", (event) => { if (event.persisted) startOver(); });
}
