// The list of messages: grouped, kept in step with the store by exchanging only what changed.

import * as api from "./api.js";
import { components, wordsOf } from "./components.js";
import { announce, avatar, h, icon, refill, toast } from "./dom.js";
import { attachments } from "./files.js";
import { go } from "./links.js";
import { plain } from "./markdown.js";
import { rich } from "./richtext.js";
import { action, openSheet } from "./sheet.js";
import { compose, findMessage, isHostBot, me, on, room, state, takePage, touch } from "./store.js";
import { clockTime, dayOf, fullTime, isoTime, sentAt } from "./times.js";

// Like Discord: messages of one author within seven minutes stand under one name.
const GROUP_MS = 7 * 60 * 1000;
// Within this many pixels of the end counts as looking at the end.
const NEAR_END = 80;
// A node exchanged between press and release would lose the tap, so drawing waits for the release, but no longer than this.
const HOLD_MS = 1000;
// A jump looks back through at most this many pages of 100.
const MAX_PAGES_BACK = 10;

// As long as the animation; where motion is reduced the colour just stays for this long.
const FLASH_MS = 2400;

const LOADING = 1 << 7;
const SYSTEM = { 1: "added somebody", 3: "made a call", 4: "renamed this place", 6: "pinned a message", 7: "is here. Welcome!", 18: "started a thread" };
const QUICK_EMOJI = ["👍", "✅", "👀", "🎉", "❤️", "😂"];

const list = document.getElementById("messages");
const scroller = document.getElementById("scroller");
const toPresent = document.getElementById("to-present");

let drawn = new Map(); // key → { node, signature }
let shown = null; // "person|channel" that is drawn
let stuck = true; // the person looks at the end, so new messages pull the view along
let queued = false;
let held = null; // timer while a finger or the mouse is down in the list
let loadingOlder = false;

/** Wires the list to the store. */
export function startMessages() {
  on("messages", (channelId) => channelId === state.channel && schedule());
  on("state", schedule);
  on("opened", () => {
    stuck = true;
    toPresent.hidden = true;
    schedule();
  });
  on("arrived", (message) => {
    if (message.channel_id !== state.channel) return;
    if (message.author.id === state.me) stuck = true;
    else if (!stuck) toPresent.hidden = false;
    announce(`${message.author.name}: ${summary(message)}`);
  });
  scroller.addEventListener("scroll", () => {
    stuck = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_END;
    if (stuck) toPresent.hidden = true;
    if (scroller.scrollTop < 200) loadOlder();
  }, { passive: true });
  toPresent.addEventListener("click", () => {
    toPresent.hidden = true;
    toEnd();
  });
  list.addEventListener("pointerdown", () => {
    clearTimeout(held);
    held = setTimeout(release, HOLD_MS);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    window.addEventListener(name, () => held && (clearTimeout(held), (held = setTimeout(release, 0))));
  }
  // Pictures and previews grow after they were drawn.
  const grown = new ResizeObserver(() => stuck && toEnd());
  grown.observe(list);
  grown.observe(scroller);
}

function toEnd() {
  scroller.scrollTop = scroller.scrollHeight;
}

function release() {
  held = null;
  schedule();
}

function schedule() {
  if (queued) return;
  queued = true;
  queueMicrotask(() => {
    queued = false;
    sync();
  });
}

function sync() {
  if (held || !state.channel || !room(state.channel).loaded) return;
  const place = `${state.me}|${state.channel}`;
  if (shown !== place) {
    drawn = new Map();
    shown = place;
  }
  const focus = focusKey();
  const wanted = entries();
  const next = new Map();
  for (const { key, signature, make } of wanted) {
    const old = drawn.get(key);
    next.set(key, old?.signature === signature ? old : { node: make(), signature });
  }
  drawn = next;
  arrange(wanted.map(({ key }) => next.get(key).node));
  restoreFocus(focus);
  if (stuck) toEnd();
}

// Moves nodes only where they are not in place yet, so that what did not change keeps its scroll and selection.
function arrange(nodes) {
  const keep = new Set(nodes);
  for (const node of [...list.children]) if (!keep.has(node)) node.remove();
  nodes.forEach((node, index) => {
    if (list.children[index] !== node) list.insertBefore(node, list.children[index] ?? null);
  });
}

function entries() {
  const here = room(state.channel);
  const channel = state.channels.get(state.channel);
  const out = [];
  if (here.loaded && !here.hasMore) out.push({ key: "start", signature: `${channel?.name}|${channel?.starter_message_id}`, make: () => beginning(channel) });
  let before = null;
  for (const message of here.list) {
    if (state.dismissed.has(message.id)) continue;
    const day = dayOf(message.timestamp_ms);
    if (day !== (before && dayOf(before.timestamp_ms))) {
      out.push({ key: `day ${day}`, signature: day, make: () => h("li", { class: "day", role: "separator", "aria-label": day }, h("span", { text: day })) });
      before = null;
    }
    const compact = follows(before, message);
    const thread = message.thread_id ? state.channels.get(message.thread_id) : null;
    const signature = [message.version, compact, thread?.name, thread?.message_count, thread?.archived].join("|");
    out.push({ key: message.id, signature, make: () => draw(message, compact, thread) });
    before = message;
  }
  return out;
}

function follows(before, message) {
  return Boolean(before) && before.author.id === message.author.id && !message.reply_to && !SYSTEM[message.type] && !SYSTEM[before.type]
    && before.ephemeral === message.ephemeral && message.timestamp_ms - before.timestamp_ms < GROUP_MS;
}

function focusKey() {
  const active = document.activeElement;
  const message = active?.closest?.("[data-message-id]");
  if (!message || !list.contains(message)) return null;
  return { message: message.dataset.messageId, custom: active.dataset.customId, more: active.classList.contains("more") };
}

function restoreFocus(focus) {
  if (!focus || list.contains(document.activeElement)) return;
  const node = list.querySelector(`[data-message-id="${CSS.escape(focus.message)}"]`);
  const inner = focus.custom ? node?.querySelector(`[data-custom-id="${CSS.escape(focus.custom)}"]:not(:disabled)`) : null;
  (inner ?? (focus.more ? node?.querySelector(".more") : null) ?? node)?.focus({ preventScroll: true });
}

function beginning(channel) {
  const thread = channel?.kind === "thread";
  const starter = thread && channel.starter_message_id && channel.parent_id;
  return h("li", { class: "beginning" },
    h("span", { class: "beginning-icon" }, icon(thread ? "thread" : "hash")),
    h("h2", { text: channel?.name ?? "" }),
    h("p", { text: thread ? "A thread. What you write here goes to the job that it belongs to." : `This is the start of ${channel?.kind === "dm" ? "this conversation" : `#${channel?.name}`}.` }),
    starter ? h("button", { type: "button", class: "button secondary", on: { click: () => go(channel.parent_id, channel.starter_message_id) } },
      icon("reply"), h("span", { text: "To the message that started it" })) : null);
}

/** What a message says, in one line. */
export function summary(message) {
  const words = plain(message.content || wordsOf(message));
  if (words) return words.slice(0, 200);
  const files = (message.attachments ?? []).map((file) => file.filename);
  return files.length ? files.join(", ") : SYSTEM[message.type] ?? "a message";
}

function draw(message, compact, thread) {
  const mentioned = (message.mentions ?? []).includes(state.me) || (message.reply_to && message.author.id !== state.me && message.reply_to.author_name === me()?.name);
  const classes = ["message", compact && "compact", message.ephemeral && "private", mentioned && "mentioned", isHostBot(message.author.id) && "from-host"];
  const node = h("li", {
    class: classes.filter(Boolean).join(" "), tabindex: "-1",
    data: { messageId: message.id, author: message.author.id },
    on: { contextmenu: (event) => longPress(event, message) },
  });
  if (SYSTEM[message.type]) append(node, system(message));
  else append(node, message.reply_to && replyLine(message), !compact && avatar(message.author, "big"), body(message, compact, thread));
  node.append(moreButton(message));
  touchHold(node, message);
  return node;
}

const append = (node, ...children) => node.append(...children.filter(Boolean));

function system(message) {
  return h("div", { class: "system" }, icon(message.type === 18 ? "thread" : "right"),
    h("p", {}, h("strong", { text: message.author.name }), ` ${SYSTEM[message.type]} `, message.content ? h("span", { text: message.content }) : null, " ", time(message, true)));
}

function time(message, short = false) {
  return h("time", { class: "sent", datetime: isoTime(message.timestamp_ms), title: fullTime(message.timestamp_ms),
    text: short ? clockTime(message.timestamp_ms) : sentAt(message.timestamp_ms) });
}

function body(message, compact, thread) {
  const edited = message.edited_ms ? h("span", { class: "edited", title: fullTime(message.edited_ms), text: "(edited)" }) : null;
  const loading = ((message.flags ?? 0) & LOADING) !== 0 && !message.content && !message.components?.length;
  const content = loading ? h("p", { class: "thinking" }, h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")), `${message.author.name} is thinking…`)
    : message.content ? h("div", { class: "content" }, rich(message.content)) : null;
  if (edited && content && !loading) (content.lastElementChild?.tagName === "P" ? content.lastElementChild : content).append(" ", edited);
  return h("div", { class: "body" },
    compact ? h("span", { class: "unseen", text: `${message.author.name}, ${clockTime(message.timestamp_ms)}` }) : head(message),
    content,
    h("div", { class: "attachments" }, attachments(message)),
    h("div", { class: "components" }, components(message)),
    edited && !content ? edited : null,
    reactions(message),
    thread ? chip(message, thread) : null,
    message.ephemeral ? privateNote(message) : null,
    state.failed.has(message.id) ? h("p", { class: "failure", role: "alert", text: state.failed.get(message.id) }) : null);
}

function head(message) {
  const name = h("span", { class: "author", text: message.author.name });
  return h("div", { class: "head" }, name, message.author.bot ? h("span", { class: "tag", title: "A program", text: "BOT" }) : null, time(message));
}

function replyLine(message) {
  const reply = message.reply_to;
  return h("button", { type: "button", class: "reply-line", "aria-label": `In reply to ${reply.author_name}: ${plain(reply.content)}. Go there.`,
    on: { click: () => go(message.channel_id, reply.id) } },
    h("span", { class: "reply-name", text: reply.author_name }), h("span", { class: "reply-words", text: plain(reply.content) || "a message" }));
}

function reactions(message) {
  if (!message.reactions?.length) return null;
  return h("div", { class: "reactions" }, message.reactions.map((reaction) => h("button", {
    type: "button", class: `reaction${reaction.me ? " own" : ""}`, "aria-pressed": String(Boolean(reaction.me)),
    "aria-label": `${reaction.emoji}, ${reaction.count} ${reaction.count === 1 ? "reaction" : "reactions"}`,
    on: { click: () => !reaction.me && addReaction(message, reaction.emoji) },
  }, h("span", { text: reaction.emoji }), h("span", { text: String(reaction.count) }))));
}

function chip(message, thread) {
  const count = thread.message_count;
  return h("button", { type: "button", class: "thread-chip", data: { threadId: thread.id }, on: { click: () => go(thread.id) } },
    icon("thread"), h("span", { class: "thread-name", text: thread.name }),
    h("span", { class: "thread-count", text: thread.archived ? "Archived ›" : `${count} ${count === 1 ? "message" : "messages"} ›` }));
}

function privateNote(message) {
  return h("p", { class: "private-note" }, icon("eye"), "Only you can see this · ",
    h("button", { type: "button", class: "text-button", on: { click: () => (state.dismissed.add(message.id), touch(message.channel_id, message.id)) } }, "Dismiss message"));
}

function moreButton(message) {
  return h("button", { type: "button", class: "more icon-button", "aria-label": `Actions for the message of ${message.author.name}`, "aria-haspopup": "dialog",
    on: { click: () => openActions(message) } }, icon("more"));
}

function longPress(event, message) {
  if (event.target.closest("a, img, audio, video, textarea") || String(getSelection())) return;
  event.preventDefault();
  openActions(message);
}

// iPhones send no contextmenu for a long touch.
function touchHold(node, message) {
  let timer = null;
  const stop = () => clearTimeout(timer);
  node.addEventListener("touchstart", (event) => {
    if (event.target.closest("a, button, pre, audio, video")) return;
    timer = setTimeout(() => !document.querySelector("dialog[open]") && openActions(message), 550);
  }, { passive: true });
  for (const name of ["touchend", "touchmove", "touchcancel"]) node.addEventListener(name, stop, { passive: true });
}

function openActions(message) {
  const own = message.author.id === state.me;
  const secret = message.ephemeral;
  const run = (fn) => () => {
    sheet.shut();
    fn();
  };
  const emoji = h("div", { class: "quick-emoji", role: "group", "aria-label": "React" }, QUICK_EMOJI.map((one) =>
    h("button", { type: "button", class: "emoji-button", "aria-label": `React with ${one}`, on: { click: run(() => addReaction(message, one)) } }, one)));
  const rows = [
    !secret && emoji,
    !secret && action("reply", "Reply", run(() => compose({ replyTo: message }))),
    message.thread_id && action("thread", "Open its thread", run(() => go(message.thread_id))),
    action("copy", "Copy text", run(() => copy(message))),
    own && !secret && action("edit", "Edit message", run(() => compose({ editing: message }))),
    own && !secret && action("trash", "Delete message", run(() => erase(message)), "danger"),
  ];
  const sheet = openSheet({ title: `Message of ${message.author.name}`, body: [h("p", { class: "quoted", text: summary(message) }), ...rows.filter(Boolean)] });
}

async function attempt(promise) {
  try {
    await promise;
  } catch (error) {
    toast(error.message);
  }
}

const addReaction = (message, emoji) => attempt(api.react(state.me, message.channel_id, message.id, emoji));
const erase = (message) => attempt(api.remove(state.me, message.channel_id, message.id));

function copy(message) {
  return attempt(navigator.clipboard.writeText(message.content || wordsOf(message)).then(() => toast("Copied.")));
}

async function loadOlder() {
  const channel = state.channel;
  const here = room(channel);
  if (!here.loaded || !here.hasMore || loadingOlder || here.list.length === 0) return;
  loadingOlder = true;
  const as = state.me;
  try {
    const answer = await api.getMessages(as, channel, here.list[0].id);
    if (state.me !== as) return;
    const height = scroller.scrollHeight - scroller.scrollTop;
    takePage(channel, answer, true);
    await Promise.resolve();
    if (state.channel === channel && !stuck) scroller.scrollTop = scroller.scrollHeight - height;
  } catch (error) {
    toast(error.message);
  } finally {
    loadingOlder = false;
  }
}

/** Scrolls to a message of the channel on screen and flashes it; looks back through older pages for it. */
export async function showMessage(messageId) {
  const channel = state.channel;
  for (let pages = 0; pages < MAX_PAGES_BACK; pages += 1) {
    if (findMessage(channel, messageId) || !room(channel).hasMore) break;
    await loadOlder();
    if (state.channel !== channel) return;
  }
  sync();
  const node = list.querySelector(`[data-message-id="${CSS.escape(messageId)}"]`);
  if (!node) {
    toast("That message is not there any more.");
    return;
  }
  stuck = false;
  node.scrollIntoView({ block: "center" });
  node.focus({ preventScroll: true });
  node.classList.remove("flash");
  void node.offsetWidth; // restarts the animation when the same message is shown twice
  node.classList.add("flash");
  setTimeout(() => node.classList.remove("flash"), FLASH_MS);
}

/** While a page is on its way. */
export function showLoading() {
  drawn = new Map();
  shown = null;
  refill(list, h("li", { class: "skeleton", "aria-label": "Loading messages" }, [72, 48, 88, 60].map((width) => {
    const bar = h("span");
    bar.style.setProperty("--width", `${width}%`);
    return bar;
  })));
}
