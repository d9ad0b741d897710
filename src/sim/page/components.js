// Draws Discord's message components, both the old rows and version 2.

import { h, icon } from "./dom.js";
import { fileCard, mediaFor, picture } from "./files.js";
import { isPending, press } from "./interactions.js";
import { linkButton } from "./links.js";
import { rich } from "./richtext.js";
import { openMenu } from "./sheet.js";
import { state } from "./store.js";

const STYLES = { 1: "primary", 2: "secondary", 3: "success", 4: "danger" };

/** The nodes for all components of a message. */
export function components(message) {
  return (message.components ?? []).map((part) => draw(part, message, 0));
}

// A container may hold a section that holds a button: three levels. More is no message of Discord's.
const MAX_DEPTH = 5;

function draw(part, message, depth) {
  if (depth > MAX_DEPTH) return note(part);
  switch (part?.type) {
    case 1: return h("div", { class: "row" }, (part.components ?? []).map((inner) => draw(inner, message, depth + 1)));
    case 2: return button(part, message);
    case 3: case 5: case 6: case 7: case 8: return select(part, message);
    case 9: return section(part, message, depth);
    case 10: return h("div", { class: "text-display" }, rich(part.content));
    case 11: return thumbnail(part, message);
    case 12: return gallery(part, message);
    case 13: return fileCard(mediaFor(part.file, message, part), { spoiler: part.spoiler });
    case 14: return separator(part);
    case 17: return container(part, message, depth);
    default: return note(part);
  }
}

// Shown rather than dropped: what is missing here would be on a real phone.
function note(part) {
  return h("p", { class: "unknown", role: "note", text: `A part of kind ${String(part?.type)} that this page cannot show.` });
}

function container(part, message, depth) {
  const node = h("div", { class: "container", role: "group" }, (part.components ?? []).map((inner) => draw(inner, message, depth + 1)));
  if (Number.isInteger(part.accent_color)) {
    const hex = (part.accent_color & 0xffffff).toString(16).padStart(6, "0");
    node.style.setProperty("--accent", `#${hex}`);
    node.classList.add("accented");
  }
  return part.spoiler ? covered(node) : node;
}

/** `node` under a cover that a tap lifts. */
export function covered(node) {
  const cover = h("button", { type: "button", class: "cover", on: { click: lift } }, "Spoiler");
  const box = h("div", { class: "covered" }, node, cover);
  node.inert = true;
  function lift() {
    node.inert = false;
    box.classList.add("shown");
    cover.remove();
  }
  return box;
}

function section(part, message, depth) {
  return h("div", { class: "section" },
    h("div", { class: "section-words" }, (part.components ?? []).map((inner) => draw(inner, message, depth + 1))),
    h("div", { class: "accessory" }, part.accessory ? draw(part.accessory, message, depth + 1) : null));
}

function separator(part) {
  const classes = `separator ${part.spacing === 2 ? "large" : ""} ${part.divider === false ? "blank" : ""}`;
  return h("div", { class: classes, role: "separator" });
}

function thumbnail(part, message) {
  const node = h("div", { class: "thumbnail" }, picture(mediaFor(part.media, message, part)));
  return part.spoiler ? covered(node) : node;
}

function gallery(part, message) {
  const items = part.items ?? [];
  return h("div", { class: `gallery of-${Math.min(items.length, 4)}` }, items.map((item) => {
    const node = h("div", { class: "gallery-item" }, picture(mediaFor(item.media, message, item)));
    return item.spoiler ? covered(node) : node;
  }));
}

function button(part, message) {
  const emoji = part.emoji?.name ? h("span", { class: "button-emoji", text: part.emoji.id ? `:${part.emoji.name}:` : part.emoji.name }) : null;
  const words = [emoji, part.label ? h("span", { text: part.label }) : null];
  if (part.style === 5) return linkButton(words, part.url);
  const style = STYLES[part.style];
  if (!style || !part.custom_id) return note(part);
  const pending = isPending(message.id, part.custom_id);
  return h("button", {
    type: "button",
    class: `button ${style}${pending ? " pending" : ""}`,
    disabled: part.disabled || false,
    "aria-busy": pending ? "true" : null,
    // While waiting the words are hidden, but the name stays.
    "aria-label": part.label ? (pending ? part.label : null) : part.emoji?.name ?? "Button",
    data: { customId: part.custom_id },
    on: { click: () => press(message, part.custom_id) },
  }, words, pending ? h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")) : null);
}

/** What can be chosen in a select of any kind. */
export function optionsOf(part) {
  const chosen = new Set((part.default_values ?? []).map((value) => value.id));
  const people = () => [...state.people.values()].map((person) => ({ label: person.name, value: person.id, description: person.role, on: chosen.has(person.id) }));
  const channels = () => [...state.channels.values()]
    .map((channel) => ({ label: `#${channel.name}`, value: channel.id, on: chosen.has(channel.id) }));
  if (part.type === 3) {
    return (part.options ?? []).map((option) => ({
      label: option.label, value: option.value, description: option.description, on: option.default, emoji: option.emoji?.name,
    }));
  }
  if (part.type === 8) return channels();
  // The control API names no roles, so a role menu is honestly empty.
  return part.type === 6 ? [] : people();
}

function select(part, message) {
  const options = optionsOf(part);
  const chosen = options.filter((option) => option.on);
  const title = part.placeholder || "Make a selection";
  const pending = isPending(message.id, part.custom_id);
  return h("button", {
    type: "button", class: `select${pending ? " pending" : ""}`, disabled: part.disabled || false,
    "aria-haspopup": "listbox", "aria-busy": pending ? "true" : null,
    "aria-label": chosen.length ? `${title}: ${chosen.map((option) => option.label).join(", ")}` : title,
    data: { customId: part.custom_id ?? "" },
    on: { click: () => openMenu({
      title, options, min: part.min_values ?? 1, max: part.max_values ?? 1,
      choose: (values) => press(message, part.custom_id, values),
    }) },
  }, h("span", { class: chosen.length ? "" : "muted", text: chosen.map((option) => option.label).join(", ") || title }),
    pending ? h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")) : icon("down"));
}

/** All words of a message's components, for previews and screen readers. */
export function wordsOf(message) {
  const words = [];
  const walk = (part) => {
    if (!part || typeof part !== "object") return;
    if (part.type === 10 && part.content) words.push(part.content);
    for (const inner of part.components ?? []) walk(inner);
    if (part.accessory) walk(part.accessory);
  };
  for (const part of message.components ?? []) walk(part);
  return words.join("\n");
}
