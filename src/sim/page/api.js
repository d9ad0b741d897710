// The control API of the simulator (docs/simulator.md). Same origin; the cookie of the printed URL opens it.

/** What the simulator refused, with its own sentence. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function call(method, path, body, raw = false) {
  const init = { method, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    init.body = raw ? body : JSON.stringify(body);
    init.headers = { "Content-Type": raw ? "application/octet-stream" : "application/json" };
  }
  let answer;
  try {
    answer = await fetch(path, init);
  } catch {
    throw new ApiError(0, "The simulator does not answer. Look whether it still runs.");
  }
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ApiError(answer.status, value.error ?? `The simulator answered ${answer.status}.`);
  return value;
}

const query = (fields) => new URLSearchParams(Object.entries(fields).filter(([, v]) => v !== undefined && v !== null));
const post = (path, body) => call("POST", path, body);

/** Guild, bot, people, channels, as `as` sees them; without `as` as the first person does. */
export const getState = (as) => call("GET", `/control/state?${query({ as })}`);
/** A page of messages, newest last. */
export const getMessages = (as, channel, before) =>
  call("GET", `/control/messages?${query({ as, channel, limit: 100, before })}`);
/** How an interaction stands. */
export const getInteraction = (id) => call("GET", `/control/interaction?${query({ id })}`);
/** Sends text. */
export const say = (as, channel, content, replyTo) =>
  post("/control/say", { as, channel, content, ...(replyTo ? { reply_to: replyTo } : {}) });
/** Sends one file, with text if there is any. */
export const upload = (as, channel, file, content) =>
  call("POST", `/control/upload?${query({ as, channel, filename: file.name, content })}`, file, true);
export const edit = (as, channel, message, content) => post("/control/edit", { as, channel, message, content });
export const remove = (as, channel, message) => post("/control/delete", { as, channel, message });
export const react = (as, channel, message, emoji) => post("/control/react", { as, channel, message, emoji });
/** Presses a button, or chooses `values` in a menu. */
export const tap = (as, channel, message, customId, values) =>
  post("/control/tap", { as, channel, message, custom_id: customId, ...(values ? { values } : {}) });
/** Hands in a form. */
export const submit = (as, interactionId, fields) =>
  post("/control/submit", { as, interaction_id: interactionId, fields });

/**
 * Listens as one person. `onEvent` gets each event, `onLink` true or false as the connection comes and goes.
 * Reconnects for ever, with growing pauses; the simulator says `hello` first on each connection.
 */
export function listen(as, onEvent, onLink) {
  let source = null;
  let timer = null;
  let closed = false;
  let pause = 500;

  const connect = () => {
    source = new EventSource(`/control/events?${query({ as })}`);
    source.onopen = () => {
      pause = 500;
      onLink(true);
    };
    source.onmessage = (raw) => {
      let event;
      try {
        event = JSON.parse(raw.data);
      } catch {
        return;
      }
      onEvent(event);
    };
    source.onerror = () => {
      source.close();
      onLink(false);
      if (closed) return;
      timer = setTimeout(connect, pause);
      pause = Math.min(pause * 2, 8000);
    };
  };
  connect();
  return () => {
    closed = true;
    clearTimeout(timer);
    source.close();
  };
}
