// The kiosk's event stream.

import { ask } from "/commands.js";
import { commands, known } from "/state.js";
import { attempt } from "/storage.js";

// Browsers open at most six connections to a host, for all windows together. So only a page that is seen has a stream, and of
// more than this many the one whose turn began first gives its own up. It takes its next turn seconds later.
const mostStreams = 4;
let stream = null;
let heardAt = performance.now();
// How many streams in a row brought nothing.
let silent = 0;
// By event name, plus `unreachable` and `heldBack`; set before the first listen().
export const handlers = {};
// The pages whose turn began after this one's.
const later = new Set();
// With blocked storage some browsers refuse it. Then a seventh window waits.
const turns = attempt(() => new BroadcastChannel("juice-streams"));

function close() {
  stream?.close();
  stream = null;
}

// Opens a new stream, perhaps for another store, and closes the previous one. A hidden tab waits until it is seen.
export function listen() {
  close();
  heardAt = performance.now();
  if (document.hidden) return;
  later.clear();
  turns?.postMessage(commands.page);
  // Not URLSearchParams: it encodes a space as a plus sign, which only forms decode.
  const asked = Object.entries({ store: known.store, page: commands.page })
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const opened = new EventSource(`/api/events?${asked.join("&")}`);
  stream = opened;
  // An answer may have been missed while the stream was down.
  opened.addEventListener("open", () => commands.resend());
  opened.addEventListener("error", () => { if (stream === opened) handlers.unreachable(); });
  for (const name of Object.keys(handlers)) {
    opened.addEventListener(name, (event) => {
      if (stream !== opened) return;
      heardAt = performance.now();
      silent = 0;
      handlers[name](JSON.parse(event.data));
    });
  }
}

turns?.addEventListener("message", ({ data }) => {
  if (later.add(data).size >= mostStreams && !document.hasFocus()) close();
});

// What is not seen needs no stream, and what is used needs one at once.
document.addEventListener("visibilitychange", listen);
addEventListener("focus", () => stream ?? listen());

// If the kiosk answers another request, a proxy holds its streams back.
async function missed() {
  silent += 1;
  const isHeldBack = silent >= 3 && (await ask("/api/menu")).by === "kiosk";
  if (silent > 0) handlers[isHeldBack ? "heldBack" : "unreachable"]();
}

// The kiosk sends an event every second. Silence means a dead connection, which the browser may not notice.
setInterval(() => {
  if (document.hidden || performance.now() - heardAt < 6000) return;
  // Without a stream, silence means that this page's next turn has come.
  if (stream) missed();
  listen();
}, 1000);
