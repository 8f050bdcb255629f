// The kiosk's event stream.

import { commands, known } from "/state.js";

let stream = null;
let heardAt = Date.now();
// By event name, plus `unreachable`; set before the first listen().
let handlers = {};

export function handle(all) { handlers = all; }

// Opens a new stream, perhaps for another store, and closes the previous one. A hidden tab waits until it is seen.
export function listen() {
  stream?.close();
  heardAt = Date.now();
  if (document.hidden) return;
  // Not URLSearchParams: it encodes a space as a plus sign, which only forms decode.
  const asked = Object.entries({ store: known.store, page: commands.page })
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const opened = new EventSource(`/api/events?${asked.join("&")}`);
  stream = opened;
  // An answer may have been missed while the stream was down.
  opened.addEventListener("open", () => commands.resend());
  opened.addEventListener("error", () => { if (stream === opened) handlers.unreachable(); });
  for (const name of ["link", "stores", "stock", "board", "answers", "own"]) {
    opened.addEventListener(name, (event) => {
      if (stream !== opened) return;
      heardAt = Date.now();
      handlers[name](JSON.parse(event.data));
    });
  }
}

// Browsers open at most six connections to a host, for all tabs together. So only a tab that is seen has a stream.
document.addEventListener("visibilitychange", listen);

// The kiosk sends an event every second. Silence means a dead connection, which the browser may not notice.
setInterval(() => {
  if (document.hidden || Date.now() - heardAt < 6000) return;
  handlers.unreachable();
  listen();
}, 1000);
