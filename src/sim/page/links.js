// Where links lead. Jump links of Discord stay within the page, since no Discord is there; others open a new tab.

import { h, icon } from "./dom.js";
import { state } from "./store.js";

const JUMP = /^https:\/\/(?:(?:canary|ptb)\.)?discord(?:app)?\.com\/channels\/(?:\d+|@me)\/(\d+)(?:\/(\d+))?\/?$/i;

/** `{ channel, message }` of a jump link, else null. */
export function jumpTarget(url) {
  const m = JUMP.exec(String(url));
  return m && { channel: m[1], message: m[2] ?? null };
}

/** The address within this page of a channel or a message. */
export const addressOf = (channel, message) => `#/${channel}${message ? `/${message}` : ""}`;

/** `{ channel, message }` that the page's own address names. */
export function currentTarget() {
  const m = /^#\/(\d+)(?:\/(\d+))?$/.exec(location.hash);
  return m && { channel: m[1], message: m[2] ?? null };
}

/** Goes there, also when the address is there already. */
export function go(channel, message = null) {
  const address = addressOf(channel, message);
  if (location.hash === address) window.dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = address;
}

/** Whether a link may be followed at all: only http and https. */
export function isSafe(url) {
  try {
    return ["http:", "https:"].includes(new URL(String(url)).protocol);
  } catch {
    return false;
  }
}

/** A link of markdown, with `children` as its words. */
export function link(href, children) {
  const jump = jumpTarget(href);
  if (jump) {
    const bare = children.length === 1 && children[0].textContent === href;
    return h("a", { class: bare ? "mention" : "", href: addressOf(jump.channel, jump.message), title: href, on: { click: follow(jump) } },
      bare ? place(jump) : children);
  }
  if (!isSafe(href)) return h("span", {}, children);
  return h("a", { href, target: "_blank", rel: "noopener noreferrer", title: href }, children);
}

/** `<#id>` or a bare jump link: the channel's name, and an arrow where a message is meant. */
export function place({ channel, message }) {
  const known = state.channels.get(channel);
  const name = known?.name ?? "unknown place";
  return [icon(known?.kind === "thread" ? "thread" : "hash"), name, message ? " › message" : ""];
}

/** A mention of a channel. */
export function channelMention(id) {
  return h("a", { class: "mention", href: addressOf(id), on: { click: follow({ channel: id, message: null }) } },
    place({ channel: id, message: null }));
}

function follow(jump) {
  return (event) => {
    event.preventDefault();
    go(jump.channel, jump.message);
  };
}

/** A link button of a message. */
export function linkButton(label, url) {
  const jump = jumpTarget(url);
  if (jump) {
    return h("a", { class: "button secondary", href: addressOf(jump.channel, jump.message), on: { click: follow(jump) } },
      label, icon("right"));
  }
  if (!isSafe(url)) return h("span", { class: "button secondary", "aria-disabled": "true" }, label);
  return h("a", { class: "button secondary", href: url, target: "_blank", rel: "noopener noreferrer" }, label, icon("external"));
}
