// The stream of events from the kiosk.

import { commands, known } from "/state.js";

let stream = null;
let heardAt = Date.now();
// By the events' names, and what else can happen; set before anything is listened to.
let handlers = {};

export function handle(all) { handlers = all; }

// Listens anew, perhaps to another store: what came before is left.
export function listen() {
  stream?.close();
  heardAt = Date.now();
  // Not by URLSearchParams, which writes a space as it is written in forms alone.
  const asked = Object.entries({ store: known.store, scope: known.scope, page: commands.page })
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const opened = new EventSource(`/api/events?${asked.join("&")}`);
  stream = opened;
  opened.addEventListener("open", () => {
    handlers.opened();
    // An answer may have come while nobody listened.
    commands.resend();
  });
  opened.addEventListener("error", () => { if (stream === opened) handlers.unreachable(); });
  for (const name of ["link", "stores", "stock", "board", "answer", "own"]) {
    opened.addEventListener(name, (event) => {
      if (stream !== opened) return;
      heardAt = Date.now();
      handlers[name](JSON.parse(event.data));
    });
  }
}

// A kiosk that is there says something every second. A connection can be gone without anybody being told.
setInterval(() => {
  if (Date.now() - heardAt < 6000) return;
  handlers.unreachable();
  listen();
}, 1000);
