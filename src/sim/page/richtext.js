// Draws the tree of markdown.js.

import { h } from "./dom.js";
import { channelMention, link } from "./links.js";
import { parse } from "./markdown.js";
import { nameOf, state } from "./store.js";
import { stamp } from "./times.js";

const TAGS = { b: "strong", i: "em", u: "u", s: "s" };

/** The nodes that show `text`. */
export function rich(text) {
  const tree = parse(text);
  const nodes = blocks(tree);
  if (isOnlyEmoji(tree)) for (const node of nodes) node.classList?.add("big-emoji");
  return nodes;
}

// Like Discord: a message of nothing but a few emoji shows them large.
function isOnlyEmoji(tree) {
  if (tree.length !== 1 || tree[0].t !== "p" || tree[0].c.length !== 1 || tree[0].c[0].t !== "text") return false;
  const text = tree[0].c[0].v.trim();
  return text.length <= 24 && /^(?:\p{Extended_Pictographic}[\u{1F3FB}-\u{1F3FF}\uFE0F\u200D]*\s*)+$/u.test(text);
}

const blocks = (tree) => tree.map(block);

function block(node) {
  switch (node.t) {
    case "p": return h("p", {}, inline(node.c));
    case "h": return h("p", { class: `heading h${node.level}`, role: "heading", "aria-level": node.level + 2 }, inline(node.c));
    case "small": return h("p", { class: "small-print" }, inline(node.c));
    case "quote": return h("blockquote", {}, blocks(node.c));
    case "codeblock": return h("pre", { tabindex: "0", "aria-label": `Code${node.lang ? `, ${node.lang}` : ""}` }, h("code", { text: node.v }));
    case "list": return list(node);
    default: return one(node);
  }
}

function list(node) {
  const items = node.items.map((item) =>
    h("li", {}, item.map((part) => (part.t === "list" ? list(part) : one(part)))));
  const start = node.ordered && node.start !== 1 ? node.start : null;
  return h(node.ordered ? "ol" : "ul", { class: "list", start }, items);
}

const inline = (nodes) => nodes.map(one);

function one(node) {
  switch (node.t) {
    case "text": return document.createTextNode(node.v);
    case "br": return h("br");
    case "b": case "i": case "u": case "s": return h(TAGS[node.t], {}, inline(node.c));
    case "code": return h("code", { text: node.v });
    case "spoiler": return spoiler(node);
    case "link": return link(node.href, inline(node.c));
    case "user": return h("span", { class: `mention${node.id === state.me ? " own" : ""}`, text: `@${nameOf(node.id)}` });
    case "role": return h("span", { class: "mention", text: "@role" });
    case "everyone": return h("span", { class: "mention", text: node.v });
    case "channel": return channelMention(node.id);
    case "time": return stamp(node.unix, node.style);
    case "emoji": return h("span", { text: `:${node.name}:` });
    case "command": return h("span", { class: "mention", text: `/${node.name}` });
    default: return document.createTextNode("");
  }
}

function spoiler(node) {
  const words = h("span", { class: "spoiler-words", "aria-hidden": "true" }, inline(node.c));
  const cover = h("span", {
    class: "spoiler",
    role: "button",
    tabindex: "0",
    "aria-label": "Spoiler. Show it.",
    on: { keydown: (event) => (event.key === "Enter" || event.key === " ") && show(event) },
  }, words);
  // In the capture phase: a link under the cover must not be followed by the tap that lifts it.
  cover.addEventListener("click", show, true);
  function show(event) {
    if (cover.classList.contains("shown")) return;
    event.preventDefault();
    event.stopPropagation();
    cover.classList.add("shown");
    for (const name of ["role", "tabindex", "aria-label"]) cover.removeAttribute(name);
    words.removeAttribute("aria-hidden");
  }
  return cover;
}
