// For newcomers: what to do first. Steps tick themselves off from what the page sees.

import { h, icon, refill } from "./dom.js";
import { suggest } from "./composer.js";
import { go } from "./links.js";
import { isHostBot, on, state } from "./store.js";

const SENTENCE = "Report on this folder";
const panel = document.getElementById("guide");

const STEPS = [
  { key: "pair", title: "Tap Pair on the HOST card", note: "The first to pair becomes its owner. Everybody else is refused." },
  { key: "on", title: "Tap On", note: "Now the machine takes jobs." },
  { key: "say", title: `Type a sentence: “${SENTENCE}”`, note: "A job starts in a thread of its own.", act: { label: "Write it for me", run: () => suggest(SENTENCE) } },
  { key: "watch", title: "Open the thread, tap Approve, and watch", note: "Nothing runs before your yes. Then the card is edited while the job runs.", act: { label: "Open the thread", run: openThread } },
  { key: "get", title: "Download what it made", note: "The file is the same as on the disk, byte for byte." },
];

let saw = new Set();
let open = true;
let whole = true;
const narrow = matchMedia("(max-width: 759px)");
let world = null;

const keyNow = () => `discord-os guide ${state.guild.id}`;

/** Wires the panel. */
export function startGuide() {
  on("state messages opened", look);
  // Before any job a download is of somebody's own file.
  on("downloaded", () => saw.has("say") && tick("get"));
  on("guide", () => {
    open = !open;
    whole = true;
    save();
    draw();
    if (open) panel.querySelector("button")?.focus();
  });
}

function load() {
  if (world === state.guild.id || !state.guild.id) return;
  world = state.guild.id;
  try {
    const kept = JSON.parse(localStorage.getItem(keyNow()) ?? "{}");
    saw = new Set(kept.saw ?? []);
    open = kept.open ?? true;
    whole = !narrow.matches || saw.size === 0;
  } catch {
    saw = new Set();
  }
}

function save() {
  try {
    localStorage.setItem(keyNow(), JSON.stringify({ saw: [...saw], open }));
  } catch {
    // Private windows may refuse to keep it; then it is only forgotten.
  }
}

function tick(key) {
  // A later step shows that the earlier ones were done, also before this page looked.
  const upTo = STEPS.findIndex((step) => step.key === key);
  const before = saw.size;
  for (const step of STEPS.slice(0, upTo + 1)) saw.add(step.key);
  if (saw.size === before) return;
  if (narrow.matches) whole = false; // on a phone the room is needed for the chat
  save();
  draw();
}

// Reads what the person sees anyway: the host's cards and threads.
function look() {
  load();
  const cards = [...state.rooms.values()].flatMap((here) => here.list).filter((message) => isHostBot(message.author.id));
  const verbs = cards.map(verbsOf);
  if (verbs.some((buttons) => buttons.get("pair")?.label === "Paired")) tick("pair");
  // While On, the card's On button cannot be pressed and its Off button can.
  if (verbs.some((buttons) => buttons.get("off")?.enabled && !buttons.get("on")?.enabled)) tick("on");
  const threads = [...state.channels.values()].filter((channel) => channel.kind === "thread");
  if (threads.length > 0) tick("say");
  const here = cards.filter((message) => message.channel_id === state.channel).map(verbsOf).filter((buttons) => buttons.size > 0);
  const started = here.length > 0 && !here.some((buttons) => buttons.get("approve")?.enabled);
  if (started && threads.some((thread) => thread.id === state.channel)) tick("watch");
  draw();
}

// The buttons of a card by verb: custom ids read `dos1:<key id>:<verb>:…`.
function verbsOf(message) {
  const verbs = new Map();
  const walk = (part) => {
    if (part?.type === 2 && part.custom_id) verbs.set(part.custom_id.split(":")[2], { label: part.label, enabled: !part.disabled });
    for (const inner of part?.components ?? []) walk(inner);
  };
  for (const part of message.components ?? []) walk(part);
  return verbs;
}

function openThread() {
  const threads = [...state.channels.values()].filter((channel) => channel.kind === "thread" && !channel.archived);
  const newest = threads.at(-1);
  if (newest) go(newest.id);
}

let drawnAs = "";

function draw() {
  const done = STEPS.filter((step) => saw.has(step.key)).length;
  const as = [open, whole, [...saw].sort().join(), state.guild.id].join("|");
  if (as === drawnAs) return;
  drawnAs = as;
  panel.hidden = !open;
  const next = STEPS.find((step) => !saw.has(step.key));
  refill(panel,
    h("header", { class: "guide-head" },
      h("button", { type: "button", class: "guide-title", "aria-expanded": String(whole), on: { click: () => ((whole = !whole), draw(), panel.querySelector(".guide-title").focus()) } },
        icon(whole ? "down" : "right"),
        h("span", { class: "guide-words" }, h("strong", { text: next ? `Getting started · ${done} of ${STEPS.length}` : "All done" }),
          h("span", { class: "muted", text: next ? next.title : "That was the whole round. Try the stranger next." }))),
      h("button", { type: "button", class: "icon-button", "aria-label": "Dismiss getting started", data: { testid: "guide-dismiss" }, on: { click: () => ((open = false), save(), draw()) } }, icon("close"))),
    progress(done),
    whole ? h("ol", { class: "steps" }, STEPS.map((step, index) => row(step, index, step === next))) : null);
}

function progress(done) {
  const bar = h("span");
  bar.style.setProperty("--done", `${(100 * done) / STEPS.length}%`);
  return h("div", { class: "progress", role: "progressbar", "aria-label": "Steps done", "aria-valuemin": "0", "aria-valuemax": STEPS.length, "aria-valuenow": done }, bar);
}

function row(step, index, isNext) {
  const done = saw.has(step.key);
  return h("li", { class: `step${done ? " done" : ""}${isNext ? " next" : ""}`, data: { step: step.key, done: String(done) } },
    h("span", { class: "step-mark", "aria-hidden": "true" }, done ? icon("check") : String(index + 1)),
    h("div", { class: "step-words" }, h("span", { class: "step-title", text: step.title }), done ? h("span", { class: "unseen", text: "(done)" }) : null,
      isNext ? h("span", { class: "muted", text: step.note }) : null,
      isNext && step.act ? h("button", { type: "button", class: "button secondary small", on: { click: step.act.run } }, step.act.label) : null));
}
