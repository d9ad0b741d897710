// The places: header of the chat, channels and threads at the left, and who is played.

import { avatar, h, icon, refill } from "./dom.js";
import { addressOf, go } from "./links.js";
import { openSheet } from "./sheet.js";
import { byId, emit, isUnread, me, on, state } from "./store.js";

const drawer = document.getElementById("drawer");
const scrim = document.getElementById("scrim");
const top = document.getElementById("top");
const narrow = matchMedia("(max-width: 759px)");
let queued = false;
let drawnAs = "";
let foldArchived = true;

const ROLES = {
  owner: "Owns this server. May pair, switch on and give jobs.",
  teammate: "Member of the channel. Paired only if the owner says so.",
  stranger: "In the channel, but nobody’s friend. Every tap should be refused.",
  bot: "Another program. What it says should never be obeyed.",
};

/** Wires header and drawer. */
export function startDrawer() {
  on("state opened", schedule);
  scrim.addEventListener("click", shut);
  document.addEventListener("keydown", (event) => event.key === "Escape" && isOpen() && shut());
  narrow.addEventListener("change", () => (shut(), applyInert()));
  applyInert();
}

function schedule() {
  if (queued) return;
  queued = true;
  queueMicrotask(() => {
    queued = false;
    // Only where something changed: a node exchanged between press and release would lose the tap.
    const now = JSON.stringify([state.me, state.channel, state.guild, [...state.people.values()],
      [...state.channels.values()].map((channel) => ({ ...channel, message_count: 0, unread: isUnread(channel) }))]);
    if (now === drawnAs) return;
    drawnAs = now;
    drawTop();
    drawDrawer();
  });
}

const isOpen = () => drawer.classList.contains("open");

function openDrawer() {
  drawer.classList.add("open");
  scrim.hidden = false;
  applyInert();
  (drawer.querySelector("[aria-current]") ?? drawer.querySelector("a, button"))?.focus();
}

function shut() {
  if (!isOpen()) return;
  drawer.classList.remove("open");
  scrim.hidden = true;
  applyInert();
  top.querySelector("[data-testid=menu]")?.focus();
}

// Out of sight must also be out of the way of Tab and of screen readers.
function applyInert() {
  drawer.inert = narrow.matches && !isOpen();
  document.querySelector(".chat").inert = narrow.matches && isOpen();
}

function drawTop() {
  const channel = state.channels.get(state.channel);
  if (!channel) return;
  const focused = document.activeElement?.dataset?.testid;
  const thread = channel.kind === "thread";
  const parent = thread ? state.channels.get(channel.parent_id) : null;
  const unread = [...state.channels.values()].some((other) => other.id !== channel.id && isUnread(other));
  const person = me();
  refill(top,
    h("button", { type: "button", class: `icon-button menu-button${thread ? " in-thread" : ""}`, "aria-label": unread ? "Channels and threads; there is something new" : "Channels and threads",
      "aria-expanded": String(isOpen()), "aria-controls": "drawer", data: { testid: "menu" }, on: { click: openDrawer } }, icon("menu"), unread ? h("span", { class: "dot" }) : null),
    parent ? h("button", { type: "button", class: "icon-button", "aria-label": `Back to #${parent.name}`, data: { testid: "back" }, on: { click: () => go(parent.id) } }, icon("back")) : null,
    h("div", { class: "top-words" },
      h("h1", {}, icon(channel.kind === "dm" ? "at" : thread ? "thread" : "hash"), h("span", { text: channel.name })),
      h("p", { class: "top-note", text: parent ? `in #${parent.name}${channel.archived ? " · archived" : ""}` : state.guild.name })),
    h("button", { type: "button", class: "icon-button", "aria-label": "Getting started", data: { testid: "guide-open" }, on: { click: () => emit("guide") } }, icon("help")),
    h("button", { type: "button", class: "icon-button person-button", "aria-label": `Playing ${person?.name ?? "nobody"}. Switch person`, "aria-haspopup": "dialog",
      data: { testid: "person-switch" }, on: { click: switchPerson } }, avatar(person, "small")));
  if (focused) top.querySelector(`[data-testid="${CSS.escape(focused)}"]`)?.focus();
  document.title = `${unread ? "• " : ""}${thread ? "" : "#"}${channel.name} · discord-os`;
}

const newestFirst = (a, b) => byId(b.last_message_id ?? b.id, a.last_message_id ?? a.id);

function drawDrawer() {
  const all = [...state.channels.values()];
  const focused = document.activeElement?.closest?.("#drawer") ? document.activeElement.getAttribute("href") : null;
  const texts = all.filter((channel) => channel.kind === "text").sort((a, b) => byId(a.id, b.id));
  const dms = all.filter((channel) => channel.kind === "dm").sort(newestFirst);
  const person = me();
  const scrolled = drawer.querySelector(".drawer-body")?.scrollTop ?? 0;
  refill(drawer,
    h("header", { class: "drawer-head" },
      h("span", { class: "guild-icon", "aria-hidden": "true", text: [...(state.guild.name || "?")][0] }),
      h("div", {}, h("h2", { text: state.guild.name }), h("p", { text: "A simulator: nothing here reaches Discord." })),
      h("button", { type: "button", class: "icon-button drawer-close", "aria-label": "Close the list", on: { click: shut } }, icon("close"))),
    h("div", { class: "drawer-body" },
      h("h3", { text: "Text channels" }),
      h("ul", {}, texts.map((channel) => h("li", {}, place(channel), threadsOf(channel, all)))),
      dms.length ? [h("h3", { text: "Direct messages" }), h("ul", {}, dms.map((channel) => h("li", {}, place(channel))))] : null),
    h("footer", { class: "drawer-foot" },
      h("button", { type: "button", class: "person-panel", "aria-haspopup": "dialog", on: { click: switchPerson } },
        avatar(person, "small"), h("span", { class: "person-words" }, h("strong", { text: person?.name ?? "" }), h("span", { class: "muted", text: `playing the ${person?.role ?? ""}` })),
        h("span", { class: "switch-word", text: "Switch" }))));
  drawer.querySelector(".drawer-body").scrollTop = scrolled;
  if (focused) drawer.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}

function threadsOf(channel, all) {
  const threads = all.filter((other) => other.kind === "thread" && other.parent_id === channel.id).sort(newestFirst);
  const live = threads.filter((thread) => !thread.archived);
  const old = threads.filter((thread) => thread.archived);
  const open = !foldArchived || old.some((thread) => thread.id === state.channel);
  if (threads.length === 0) return null;
  return h("ul", { class: "threads", "aria-label": `Threads of #${channel.name}` }, live.map((thread) => h("li", {}, place(thread))),
    old.length ? h("li", {}, h("button", { type: "button", class: "fold", "aria-expanded": String(open), on: { click: () => ((foldArchived = open), drawDrawer(), drawer.querySelector(".fold")?.focus()) } },
      icon(open ? "down" : "right"), `${old.length} archived`)) : null,
    open ? old.map((thread) => h("li", {}, place(thread))) : null);
}

function place(channel) {
  const here = channel.id === state.channel;
  const unread = !here && isUnread(channel);
  return h("a", {
    class: `place ${channel.kind}${unread ? " unread" : ""}${channel.archived ? " archived" : ""}`, href: addressOf(channel.id),
    "aria-current": here ? "page" : null, data: { channelId: channel.id },
    on: { click: (event) => (event.preventDefault(), shut(), go(channel.id)) },
  }, icon(channel.kind === "dm" ? "at" : channel.kind === "thread" ? "thread" : "hash"), h("span", { class: "place-name", text: channel.name }),
    unread ? h("span", { class: "dot", role: "img", "aria-label": "unread" }) : null);
}

function switchPerson() {
  shut();
  const rows = [...state.people.values()].filter((person) => person.id !== state.bot.id).map((person) => h("button", {
    type: "button", class: "action person-row", data: { personId: person.id }, "aria-current": person.id === state.me ? "true" : null,
    on: { click: () => (sheet.shut(), person.id !== state.me && emit("become", person.id)) },
  }, avatar(person, ""), h("span", { class: "person-words" },
      h("strong", {}, person.name, person.bot ? h("span", { class: "tag", text: "BOT" }) : null),
      h("span", { class: "muted", text: ROLES[person.role] ?? person.role })),
    h("span", { class: "tick" }, icon("check"))));
  const sheet = openSheet({ title: "Who do you want to be?", body: [h("p", { class: "lead", text: "Everybody here is you. Try what each may do." }), ...rows] });
}
