// The message box: text, files, replies and edits.

import * as api from "./api.js";
import { bytes, h, icon, refill, toast } from "./dom.js";
import { plain } from "./markdown.js";
import { compose, on, room, state, typists } from "./store.js";

// Discord's bound on a message, in code points; the count shows near it.
const MAX_LENGTH = 2000;
const SHOW_COUNT = 1800;

const drafts = new Map(); // "person|channel" → { text, files }
let draftKey = null;
let files = [];
let sending = false;

const footer = document.getElementById("composer");
const bar = h("div", { class: "compose-bar", hidden: true });
const chips = h("div", { class: "chips", hidden: true });
const typing = h("p", { class: "typing", role: "status" });
const count = h("span", { class: "count", hidden: true });
const box = h("textarea", {
  id: "compose", rows: "1", class: "compose", enterkeyhint: "send", autocomplete: "off", spellcheck: "true",
  data: { testid: "composer" }, "aria-label": "Message",
  on: { input: changed, keydown: key, paste: (event) => event.clipboardData.files.length > 0 && (event.preventDefault(), addFiles(event.clipboardData.files)) },
});
const picker = h("input", { type: "file", multiple: true, class: "unseen", tabindex: "-1", "aria-hidden": "true", data: { testid: "file-input" },
  on: { change: () => (addFiles(picker.files), (picker.value = "")) } });
const attach = h("button", { type: "button", class: "round-button", "aria-label": "Attach a file", data: { testid: "attach" }, on: { click: () => picker.click() } }, icon("plus"));
const sendButton = h("button", { type: "button", class: "round-button send", "aria-label": "Send", data: { testid: "send" }, on: { click: send } }, icon("send"));

/** Puts the box on the page and wires it. */
export function startComposer() {
  footer.append(typing, bar, chips, h("div", { class: "compose-line" }, attach, picker, h("div", { class: "compose-box" }, box, count), sendButton));
  on("opened", swapDraft);
  on("compose", beginMode);
  on("typing", drawTyping);
  on("state", () => state.channel && placeholder());
  setInterval(drawTyping, 1000);
  const chat = document.querySelector(".chat");
  chat.addEventListener("dragover", (event) => event.preventDefault());
  chat.addEventListener("drop", (event) => {
    event.preventDefault();
    addFiles(event.dataTransfer.files);
  });
}

/** Puts `text` in the box, ready to be sent. */
export function suggest(text) {
  box.value = text;
  changed();
  box.focus();
}

function swapDraft() {
  if (draftKey) drafts.set(draftKey, { text: state.editing ? "" : box.value, files });
  const place = `${state.me}|${state.channel}`;
  if (draftKey !== place) {
    draftKey = place;
    compose({});
    const draft = drafts.get(place) ?? { text: "", files: [] };
    box.value = draft.text;
    files = draft.files;
  }
  placeholder();
  drawChips();
  changed();
  drawTyping();
}

function placeholder() {
  const channel = state.channels.get(state.channel);
  if (!channel) return;
  const words = `Message ${channel.kind === "text" ? "#" : ""}${channel.name}`;
  box.placeholder = words;
  box.setAttribute("aria-label", words);
}

function beginMode() {
  const { replyTo, editing } = state;
  bar.hidden = !replyTo && !editing;
  const stop = h("button", { type: "button", class: "icon-button", "aria-label": editing ? "Stop editing" : "Stop replying", on: { click: () => leaveMode() } }, icon("close"));
  if (editing) {
    refill(bar, icon("edit"), h("span", { class: "bar-words" }, "Editing your message"), stop);
    box.value = editing.content;
    changed();
  } else if (replyTo) {
    refill(bar, icon("reply"), h("span", { class: "bar-words" }, "Replying to ", h("strong", { text: replyTo.author.name }), " ", h("span", { class: "muted", text: plain(replyTo.content).slice(0, 80) })), stop);
  }
  if (editing || replyTo) box.focus();
}

function leaveMode() {
  const wasEditing = Boolean(state.editing);
  compose({});
  if (wasEditing) box.value = "";
  changed();
  box.focus();
}

function changed() {
  box.style.setProperty("height", "auto");
  // Measured only with text in it: a long placeholder must not make the box higher.
  if (box.value !== "") box.style.setProperty("height", `${Math.min(box.scrollHeight, 160)}px`);
  const length = [...box.value].length;
  count.hidden = length < SHOW_COUNT;
  count.textContent = String(MAX_LENGTH - length);
  count.classList.toggle("over", length > MAX_LENGTH);
  sendButton.disabled = sending || length > MAX_LENGTH || (box.value.trim() === "" && files.length === 0);
}

function key(event) {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    if (!sendButton.disabled) send();
  } else if (event.key === "Escape" && (state.replyTo || state.editing)) {
    event.preventDefault();
    leaveMode();
  } else if (event.key === "ArrowUp" && box.value === "" && !state.editing) {
    const own = room(state.channel).list.filter((message) => message.author.id === state.me && message.content).at(-1);
    if (own) {
      event.preventDefault();
      compose({ editing: own });
    }
  }
}

function addFiles(more) {
  files = [...files, ...more];
  drawChips();
  changed();
  box.focus();
}

function drawChips() {
  chips.hidden = files.length === 0;
  refill(chips, files.map((file, index) => h("span", { class: "chip" }, icon("file"),
    h("span", { class: "chip-words" }, h("span", { class: "chip-name", text: file.name }), h("span", { class: "muted", text: bytes(file.size) })),
    h("button", { type: "button", class: "icon-button", "aria-label": `Leave out ${file.name}`, on: { click: () => {
      files = files.filter((_, at) => at !== index);
      drawChips();
      changed();
    } } }, icon("close")))));
}

async function send() {
  const [as, channel] = [state.me, state.channel];
  const { replyTo, editing } = state;
  const text = box.value.trim();
  const batch = files;
  sending = true;
  changed();
  try {
    if (editing) {
      await api.edit(as, channel, editing.id, text);
    } else if (batch.length > 0) {
      await sendFiles(as, channel, batch, text);
    } else {
      await api.say(as, channel, text, replyTo?.id);
    }
    if (state.me === as && state.channel === channel) {
      if (box.value.trim() === text || editing) box.value = "";
      compose({});
    } else {
      drafts.delete(`${as}|${channel}`);
    }
  } catch (error) {
    toast(error.message);
  }
  sending = false;
  changed();
  box.focus({ preventScroll: true });
}

// One message a file, as the control API has it; the words go with the first.
async function sendFiles(as, channel, batch, text) {
  for (const [index, file] of batch.entries()) {
    await api.upload(as, channel, file, index === 0 && text ? text : undefined);
    if (state.me === as && state.channel === channel) {
      files = files.filter((other) => other !== file);
      drawChips();
    }
  }
}

function drawTyping() {
  const names = typists(state.channel);
  const words = names.length === 0 ? "" : names.length === 1 ? `${names[0]} is typing…`
    : names.length === 2 ? `${names[0]} and ${names[1]} are typing…` : "Several people are typing…";
  if (typing.dataset.words === words) return;
  typing.dataset.words = words;
  refill(typing, words ? [h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")), words] : []);
}
