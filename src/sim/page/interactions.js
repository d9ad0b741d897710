// Presses and forms: sends them, waits for the bot's answer, and tells the store how it went.

import * as api from "./api.js";
import { emit, on, state, touch } from "./store.js";

// An outcome normally comes as an event. Should events be cut off, it is asked for after this long, then every second.
const ASK_AFTER_MS = 4000;
const ASK_EVERY_MS = 1000;
// Discord gives a bot 3 s; with the event's way back nothing honest takes longer than this.
const GIVE_UP_MS = 20_000;
// Outcomes that came before the answer to our own call; older ones are of no use.
const KEEP_EARLY = 50;

const FAILED = "This interaction failed";

const early = new Map(); // interaction id → event
const waiting = new Map(); // interaction id → function that takes the event
const opened = new Set(); // interaction ids whose form is or was shown

on("interaction", (event) => {
  const take = waiting.get(event.interaction_id);
  if (take) return take(event);
  early.set(event.interaction_id, event);
  if (early.size > KEEP_EARLY) early.delete(early.keys().next().value);
  return undefined;
});

on("modal", (event) => openForm(event.interaction_id, event));

function openForm(id, form) {
  const take = waiting.get(id);
  if (!opened.has(id)) {
    opened.add(id);
    emit("form", { ...form, interaction_id: id });
  }
  take?.({ state: "answered" });
}

/** Waits until interaction `id` is answered (null) or has failed (why). */
function outcome(id) {
  return new Promise((resolve) => {
    const since = Date.now();
    let timer = null;
    const take = (event) => {
      if (event.state !== "answered" && event.state !== "failed") return;
      clearTimeout(timer);
      waiting.delete(id);
      resolve(event.state === "failed" ? [FAILED, event.error].filter(Boolean).join(". ") : null);
    };
    const ask = async () => {
      try {
        const answer = await api.getInteraction(id);
        if (!waiting.has(id)) return;
        if (answer.modal) openForm(id, answer.modal);
        if (answer.state !== "waiting") return take({ state: answer.state });
      } catch {
        // Asked again below; the connection banner says what is wrong.
      }
      if (Date.now() - since > GIVE_UP_MS) take({ state: "failed" });
      else if (waiting.has(id)) timer = setTimeout(ask, ASK_EVERY_MS);
    };
    waiting.set(id, take);
    const known = early.get(id);
    early.delete(id);
    if (known) return take(known);
    if (opened.has(id)) return take({ state: "answered" });
    timer = setTimeout(ask, ASK_AFTER_MS);
  });
}

const keyOf = (messageId, customId) => `${messageId}|${customId}`;

export const isPending = (messageId, customId) => state.pending.has(keyOf(messageId, customId));

/** Presses `customId` of `message`, or chooses `values` in it. Shows waiting and failure at the message. */
export async function press(message, customId, values) {
  const key = keyOf(message.id, customId);
  if (state.pending.has(key)) return;
  const as = state.me;
  state.pending.set(key, true);
  state.failed.delete(message.id);
  touch(message.channel_id, message.id);
  let failure;
  try {
    const { interaction_id: id } = await api.tap(as, message.channel_id, message.id, customId, values);
    failure = await outcome(id);
  } catch (error) {
    failure = error.message;
  }
  if (state.me !== as) return;
  state.pending.delete(key);
  if (failure) state.failed.set(message.id, failure);
  touch(message.channel_id, message.id);
}

/** Hands in a form. Null when it was taken, else why not. */
export async function handIn(interactionId, fields) {
  try {
    const { interaction_id: id } = await api.submit(state.me, interactionId, fields);
    return await outcome(id);
  } catch (error) {
    return error.message;
  }
}
