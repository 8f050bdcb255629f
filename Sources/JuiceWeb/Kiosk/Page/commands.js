// The commands in flight. Each has its id from the start and is resent under it as often as needed, so it is carried out once.
// Commands without an answer survive a reload.

import { kindOf, kinds } from "/kinds.js";
import { browser, keep, restored } from "/storage.js";

// In seconds. Pauses between tries double, so that no outage and no proxy is asked in a fast loop.
const longestPause = 30;
const requestTimeout = 20_000;
export const storageName = "juice-commands";
const pageName = "juice-page";
// The last orders of all pages of this browser: after a crash it may have this area, and not the page's own.
const sentName = "juice-sent";
const mostSent = 20;
const sentOrder = (id) => restored(sentName, browser).find((one) => one.id === id);

// The kiosk's time, in milliseconds. The device's own clock may be wrong, or be set while the page is open.
let start = 0;
export const setTime = (seconds) => { start = seconds * 1000 - performance.now(); };
export const now = () => start + performance.now();

// Sends a request, and judges who responded: the kiosk marks its responses. Resolves to who did, `by`: "kiosk", "proxy" or
// null, and to the status, the body and `Retry-After`. Unless the kiosk responded, it may have got the request or not.
export async function ask(path, options) {
  try {
    // The kiosk never redirects. A proxy may, to a page to sign in; that has the status 0 here.
    const signal = AbortSignal.timeout?.(requestTimeout);
    const response = await fetch(path, { redirect: "manual", signal, ...options });
    const [status, wait] = [response.status, Number(response.headers.get("Retry-After"))];
    if (!response.headers.has("Juice-Kiosk")) return { by: "proxy", status, wait };
    return { by: "kiosk", status, wait, body: await response.json().catch(() => ({})) };
  } catch {
    return { by: null, status: 0 };
  }
}

// Posts JSON. Proxies that filter requests refuse the plain text that browsers would call it.
export const post = (path, value, headers) => ask(path,
  { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(value) });

// Not crypto.randomUUID: it exists only in secure contexts, on localhost and over TLS.
const random = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const keyOf = (kind, id) => `${kind} ${id}`;

export class Commands {
  // The window is the time in seconds for which the service recognizes a repeat.
  constructor(duplicateWindow) {
    // A later try would be carried out once more. The margin is for what is on its way.
    this.sendableFor = 900 * duplicateWindow;
    // What the ids of its commands begin with, also after a reload: the kiosk sends the answers there.
    [this.page] = [...restored(pageName), `kiosk-${random()}`];
    keep(pageName, [this.page]);
    // Called after each change of a command. Its state is sending, unsent, sent, answered, refused, stopped or dropped.
    this.onChange = () => {};
    // Whether restocks are accepted: staff are signed in.
    this.isStaff = false;
    // By kind and id.
    this.open = new Map();
    for (const command of restored(storageName)) this.#add({ ...command, state: "sending" });
  }

  newID() { return `${this.page}-${random()}`; }

  // The content is the record's members but for the id. A quiet command has no card unless something is wrong.
  send(kind, store, content, { id = this.newID(), isQuiet = false } = {}) {
    const times = { at: now(), deviceAt: Date.now() };
    if (kind === "order") {
      // A copy of this tab had the same basket.
      if (sentOrder(id)) id = this.newID();
      keep(sentName, [...restored(sentName, browser), { kind, id, store, ...times }].slice(-mostSent), browser);
    }
    const command = { kind, id, store, content, isQuiet, ...times, state: "sending" };
    this.#add(command);
    this.#keep();
    this.onChange(command);
    this.#post(command);
  }

  // Whether an order was sent under this id. If so, it is sent again, for its answer.
  recall(id, content) {
    const sent = sentOrder(id);
    if (sent && !this.isOver(sent)) this.#add({ ...sent, content, isUncertain: true, state: "sending" });
    return Boolean(sent);
  }

  // Resends every command without an answer: the answer may have been missed while the stream was down.
  resend() {
    for (const command of this.open.values()) {
      // The kiosk's limit, and a proxy's refusal, are not over because the stream is open again.
      if (command.refusal?.by !== "proxy" && command.refusal?.status !== 429) this.#post(command);
    }
  }

  // Whether it is too late for another try, by the kiosk's time.
  isOver({ at }) { return now() - at > this.sendableFor; }

  // Stops sending a command. One of its tries may have reached the kiosk, so it is not known whether it is carried out.
  stop(command) { if (this.open.has(command.key)) this.#end(command, "stopped"); }

  // Stops waiting for an answer.
  drop(kind, id) {
    const command = this.open.get(keyOf(kind, id));
    if (command) this.#end(command, "dropped");
  }

  answered(answer) {
    const kind = kindOf(answer);
    const command = this.open.get(keyOf(kind, answer[kinds[kind].id]));
    if (!command || command.store !== answer.store) return;
    command.answer = answer;
    this.#end(command, "answered");
  }

  #add(command) {
    command.key = keyOf(command.kind, command.id);
    command.tries = 0;
    this.open.set(command.key, command);
  }

  #end(command, state) {
    clearTimeout(command.again);
    command.state = state;
    this.open.delete(command.key);
    this.#keep();
    this.onChange(command);
  }

  async #post(command) {
    const { topic, id, isForStaff } = kinds[command.kind];
    if (command.isInFlight || isForStaff && !this.isStaff) return;
    clearTimeout(command.again);
    command.isInFlight = true;
    const failure = await this.#syncTime(command);
    if (!this.open.has(command.key)) return;
    if (this.isOver(command)) return this.stop(command);
    const path = `/api/${topic}?store=${encodeURIComponent(command.store)}`;
    const response = failure ?? await post(path, { [id]: command.id, ...command.content });
    command.isInFlight = false;
    // The answer may have arrived before this response.
    if (!this.open.has(command.key)) return;
    const { by, status, body } = response;
    const isRefused = by === "kiosk" && status >= 400 && status < 500;
    const isLimited = isRefused && status === 429;
    command.isUncertain ||= !isRefused;
    command.tries += isLimited ? 0 : 1;
    const wait = Math.min(longestPause, Math.max(response.wait || 0, 2 ** command.tries));
    command.refusal = by === "kiosk" && status === 202 ? null : { by, status, code: body?.error, wait };
    // If an earlier try may have arrived, this refusal does not mean that the command is not carried out.
    if (isRefused && !isLimited) return this.#end(command, command.isUncertain ? "stopped" : "refused");
    command.state = command.refusal ? "unsent" : "sent";
    // Add jitter, so that pages do not retry all at once.
    if (command.refusal) command.again = setTimeout(() => this.#post(command), (wait + Math.random()) * 1000);
    this.#keep();
    this.onChange(command);
  }

  // If by the device's clock it is too late, it was set, or the device slept: then the page's own clock may have stood still. The
  // kiosk knows. Resolves to what came in its place, else to null.
  async #syncTime({ deviceAt }) {
    if (!(Date.now() - deviceAt > this.sendableFor)) return null;
    const response = await ask("/api/settings");
    const isKnown = response.by === "kiosk" && response.status === 200;
    if (isKnown) setTime(response.body.time);
    return isKnown ? null : response;
  }

  #keep() {
    keep(storageName, [...this.open.values()].map(({ kind, id, store, content, isQuiet, at, deviceAt, isUncertain }) =>
      ({ kind, id, store, content, isQuiet, at, deviceAt, isUncertain })));
  }
}
