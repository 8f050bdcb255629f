// Orders, cancels and restocks in flight. Each has its id from the start and is resent under it as often as needed, so it is
// carried out once. Commands without an answer survive a reload.

// What survives a reload, as long as the tab is open.
export const restored = (name) => JSON.parse(sessionStorage.getItem(name) ?? "[]");
export const keep = (name, list) => sessionStorage.setItem(name, JSON.stringify(list));
export const forgetAll = () => { for (const storage of [sessionStorage, localStorage]) storage.clear(); };

const lateAfter = 10_000;
const againAfter = 2_000;
export const storageName = "juice-commands";
const pageName = "juice-page";

// Not crypto.randomUUID: it exists only in secure contexts, on localhost and over TLS.
const random = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const keyOf = (kind, id) => `${kind} ${id}`;

const kindOf = (answer) => (answer.restockId ? "restock" : answer.type === "cancelled" || answer.cancel ? "cancel" : "order");

export class Commands {
  constructor() {
    // What the ids of its commands begin with, also after a reload: the kiosk sends the answers there.
    this.page = sessionStorage.getItem(pageName) ?? `kiosk-${random()}`;
    sessionStorage.setItem(pageName, this.page);
    // Called after each change of a command. Its state is sending, unsent, limited, sent, late, answered, refused
    // or dropped.
    this.onChange = () => {};
    // Whether restocks are accepted: staff are signed in.
    this.isStaff = false;
    // By kind and id: an order and its cancel have one id.
    this.open = new Map();
    for (const command of restored(storageName)) this.#add({ ...command, state: "sending" });
  }

  // The content is the record's members but for the id. A cancel has its order's id. A quiet command has no card unless something
  // is wrong.
  send(kind, store, content, { id = `${this.page}-${random()}`, isQuiet = false } = {}) {
    const command = { kind, id, store, content, isQuiet, at: Date.now(), state: "sending" };
    this.#add(command);
    this.#keep();
    this.onChange(command);
    this.#post(command);
  }

  // Resends every command without an answer: the answer may have been missed while the stream was down.
  resend() {
    for (const command of this.open.values()) {
      // A rate-limited command keeps waiting for its turn.
      if (command.state !== "limited") this.#post(command);
    }
  }

  askAgain(command) { if (this.open.has(command.key)) this.#post(command); }

  // Stops waiting for an answer.
  drop(kind, id) {
    const command = this.open.get(keyOf(kind, id));
    if (command) this.#end(command, "dropped");
  }

  answered(answer) {
    const command = this.open.get(keyOf(kindOf(answer), answer.orderId ?? answer.restockId));
    if (!command || command.store !== answer.store) return;
    command.answer = answer;
    this.#end(command, "answered");
  }

  #add(command) {
    command.key = keyOf(command.kind, command.id);
    this.open.set(command.key, command);
    command.timer = setTimeout(() => {
      if (command.state !== "unsent" && command.state !== "limited") command.state = "late";
      command.isLate = true;
      this.onChange(command);
    }, Math.max(0, command.at + lateAfter - Date.now()));
  }

  #end(command, state) {
    clearTimeout(command.timer);
    clearTimeout(command.again);
    command.state = state;
    this.open.delete(command.key);
    this.#keep();
    this.onChange(command);
  }

  async #post(command) {
    clearTimeout(command.again);
    if (command.kind === "restock" && !this.isStaff) return;
    const [topic, id] = command.kind === "restock" ? ["restocks", "restockId"] : ["orders", "orderId"];
    let refusal = null;
    try {
      const response = await fetch(`/api/${topic}?store=${encodeURIComponent(command.store)}`,
        { method: "POST", body: JSON.stringify({ [id]: command.id, ...command.content }) });
      if (!response.ok) {
        const wait = Number(response.headers.get("Retry-After"));
        refusal = { status: response.status, code: (await response.json()).error, wait };
      }
    } catch {
      refusal = { status: 0 };
    }
    // The answer may have arrived before this response.
    if (!this.open.has(command.key)) return;
    command.refusal = refusal;
    const isLimited = refusal?.status === 429;
    if (refusal && !isLimited && refusal.status >= 400 && refusal.status < 500) return this.#end(command, "refused");
    command.state = isLimited ? "limited" : refusal ? "unsent" : command.isLate ? "late" : "sent";
    // Add jitter, so that pages do not retry all at once.
    const again = isLimited ? (refusal.wait + Math.random()) * 1000 : againAfter;
    if (refusal) command.again = setTimeout(() => this.#post(command), again);
    this.onChange(command);
  }

  #keep() {
    keep(storageName, [...this.open.values()]
      .map(({ kind, id, store, content, isQuiet, at }) => ({ kind, id, store, content, isQuiet, at })));
  }
}
