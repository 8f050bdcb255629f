// A public terminal, whose page is opened with ?terminal, or ?terminal=SECONDS: left alone for that long, it starts over for the
// next visitor. What has no answer yet would be lost with the page, so it waits for that while it can be sent.

import { ask } from "/commands.js";
import { $, commands, menu, terminal } from "/state.js";
import { lock } from "/stock.js";

const warning = Math.min(20_000, terminal * 500);
// When somebody touched the page last; null if there is nothing to start over.
let touchedAt = commands.open.size > 0 || menu.isStaff && !menu.isLocked ? performance.now() : null;

// The question is closed by its button alone: closed when a finger comes down, it would let the tap through to what is below.
function touched() { touchedAt = performance.now(); }

// Hides what the visitor did, signs staff out and loads the page, once it is there: a browser that does not reach the kiosk would
// show an error in its place.
async function startOver() {
  $("idle").close();
  $("main").hidden = true;
  await lock();
  for (let pause = 1; (await ask("/")).by !== "kiosk"; pause = Math.min(30, 2 * pause)) {
    await new Promise((resume) => setTimeout(resume, pause * 1000));
  }
  // Also loads the page if it is on screen already, with another hash.
  location.replace(location.pathname + location.search);
}

function check() {
  const open = [...commands.open.values()];
  if ($("main").hidden || touchedAt === null || open.some((command) => !commands.isOver(command))) return;
  const left = touchedAt + terminal * 1000 - performance.now();
  if (left < warning && !$("idle").open) $("idle").showModal();
  if (left > 0) return;
  for (const command of open) commands.stop(command);
  startOver();
}

if (terminal) {
  for (const name of ["pointerdown", "keydown", "wheel"]) addEventListener(name, touched, { capture: true, passive: true });
  setInterval(check, Math.min(1000, warning / 2));
  // A page that the browser kept shows what the last visitor did.
  addEventListener("pageshow", (event) => { if (event.persisted) startOver(); });
}
