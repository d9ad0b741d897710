// Files of messages: pictures, sound, text previews, and the Download button.

import { bytes, h, icon, toast } from "./dom.js";
import { isSafe } from "./links.js";
import { openSheet } from "./sheet.js";
import { emit } from "./store.js";

// A preview shows the beginning; the whole is what Download is for.
const PREVIEW_BYTES = 4096;
const PREVIEW_LINES = 12;
const VIEW_BYTES = 256 * 1024;

const TEXT_NAMES = /\.(txt|md|markdown|log|csv|tsv|json|jsonl|ya?ml|toml|ini|xml|html?|css|js|mjs|ts|rs|py|sh|c|h|cpp|go|java|sql|diff|patch)$/i;

/** Whether a file is one to show as a picture. A picture inside `<img>` runs no script, not even an SVG. */
const isPicture = (file) => /^image\//.test(file.content_type ?? "") || (!file.content_type && /\.(png|jpe?g|gif|webp|svg)$/i.test(file.filename));
const isSound = (file) => /^audio\//.test(file.content_type ?? "");
const isVideo = (file) => /^video\//.test(file.content_type ?? "");
const isText = (file) => !isPicture(file) && (/^text\/|json|xml|yaml|toml/.test(file.content_type ?? "") || TEXT_NAMES.test(file.filename));

/** The file that a component's media means: by `attachment://name`, by its id, or by its own address. */
export function mediaFor(media, message, part = {}) {
  const url = String(media?.url ?? "");
  const name = url.startsWith("attachment://") ? url.slice("attachment://".length) : null;
  const attachments = message.attachments ?? [];
  const path = (address) => address.split("?")[0];
  const known = attachments.find((file) => file.filename === name || file.id === media?.attachment_id || path(file.url) === path(url));
  if (known) return { ...known, description: part.description ?? known.description };
  const tail = decodeURIComponentSafe(path(url).split("/").pop() ?? "");
  return {
    id: "", filename: part.name ?? tail ?? "file", title: null, description: part.description ?? null,
    size: part.size ?? media?.size ?? 0, content_type: media?.content_type ?? null, url: name === null ? url : "",
  };
}

function decodeURIComponentSafe(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The attachments of a message that no component shows already. */
export function attachments(message) {
  const used = JSON.stringify(message.components ?? []);
  // With components v2 a file shows only where a component names it.
  if ((message.flags ?? 0) & (1 << 15)) return [];
  return (message.attachments ?? []).filter((file) => !used.includes(`attachment://${file.filename}"`)).map((file) => attachment(file));
}

function attachment(file) {
  const spoiler = /^SPOILER_/.test(file.filename) || ((file.flags ?? 0) & 8) !== 0;
  return fileCard(file, { spoiler });
}

/** A picture that opens large. */
export function picture(file) {
  if (!isSafe(file.url)) return h("p", { class: "unknown", role: "note", text: "A picture that is not there." });
  const alt = file.description || file.filename || "Picture";
  const image = h("img", { src: file.url, alt, loading: "lazy", decoding: "async", referrerpolicy: "no-referrer" });
  image.addEventListener("error", () => image.replaceWith(h("span", { class: "unknown", text: `${alt} (could not be loaded)` })));
  return h("button", { type: "button", class: "picture", "aria-label": `Open ${alt}`, on: { click: () => enlarge(file, alt) } }, image);
}

function enlarge(file, alt) {
  const image = h("img", { src: file.url, alt, class: "large-picture", referrerpolicy: "no-referrer" });
  openSheet({ title: trueName(file), body: [image], foot: [downloadButton(file)], kind: "viewer" });
}

/** The name a person knows the file by: Discord keeps the true stem in `title` where it had to rewrite the name. */
export function trueName(file) {
  if (!file.title) return file.filename;
  const ending = /\.[A-Za-z0-9]{1,10}$/.exec(file.filename)?.[0] ?? "";
  return file.title.endsWith(ending) ? file.title : file.title + ending;
}

/** A file with its size, what it looks like, and Download. */
export function fileCard(file, { spoiler = false } = {}) {
  const name = trueName(file);
  const head = h("div", { class: "file-head" },
    h("span", { class: "file-icon" }, icon("file")),
    h("span", { class: "file-words" }, h("span", { class: "file-name", text: name, title: name }),
      h("span", { class: "file-size", text: bytes(file.size ?? 0) })),
    isText(file) && isSafe(file.url) ? h("button", {
      type: "button", class: "icon-button", "aria-label": `View ${name}`, on: { click: () => view(file) },
    }, icon("eye")) : null,
    downloadButton(file, true));
  const node = h("div", { class: "file", role: "group", "aria-label": `File ${name}`, title: file.description, data: { filename: file.filename } },
    preview(file), head);
  if (spoiler) {
    node.classList.add("hidden-file");
    const cover = h("button", { type: "button", class: "cover", on: { click: () => (node.classList.remove("hidden-file"), cover.remove()) } }, "Spoiler");
    node.append(cover);
  }
  return node;
}

function preview(file) {
  if (!isSafe(file.url)) return null;
  if (isPicture(file)) return picture(file);
  if (isSound(file)) return h("audio", { controls: true, preload: "none", src: file.url, "aria-label": trueName(file) });
  if (isVideo(file)) return h("video", { controls: true, preload: "metadata", src: file.url, "aria-label": trueName(file) });
  return isText(file) ? textPreview(file) : null;
}

// Previews by path: an edited card brings fresh signatures, but the bytes of an attachment never change.
const previews = new Map();
const KEEP_PREVIEWS = 100;

function textPreview(file) {
  const key = file.url.split("?")[0];
  const code = h("code");
  const box = h("pre", { class: "file-preview", tabindex: "0", "aria-label": `Beginning of ${trueName(file)}` }, code);
  const show = (text) => {
    const lines = text.split("\n");
    code.textContent = lines.slice(0, PREVIEW_LINES).join("\n");
    box.classList.toggle("cut", lines.length > PREVIEW_LINES || text.length >= PREVIEW_BYTES);
  };
  if (previews.has(key)) {
    show(previews.get(key));
    return box;
  }
  box.classList.add("loading");
  beginning(file.url, PREVIEW_BYTES).then((text) => {
    previews.set(key, text);
    if (previews.size > KEEP_PREVIEWS) previews.delete(previews.keys().next().value);
    box.classList.remove("loading");
    show(text);
  }).catch(() => box.remove());
  return box;
}

// Reads no more than it shows, and needs no Range request, which would cost a CORS preflight.
async function beginning(url, limit) {
  const answer = await fetch(url, { credentials: "omit" });
  if (!answer.ok) throw new Error(`The file server answered ${answer.status}.`);
  const reader = answer.body.getReader();
  const parts = [];
  let size = 0;
  while (size < limit) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
  }
  reader.cancel().catch(() => {});
  const all = new Uint8Array(await new Blob(parts).arrayBuffer()).subarray(0, limit);
  return new TextDecoder().decode(all, { stream: true });
}

async function view(file) {
  const name = trueName(file);
  const code = h("code", { text: "Loading…" });
  openSheet({ title: name, body: [h("pre", { class: "whole", tabindex: "0", "aria-label": name }, code)], foot: [downloadButton(file)], kind: "viewer" });
  try {
    const text = await beginning(file.url, VIEW_BYTES);
    code.textContent = text + (text.length >= VIEW_BYTES ? "\n… (Download has the rest.)" : "");
  } catch (error) {
    code.textContent = `${error.message} Try again later.`;
  }
}

function downloadButton(file, small = false) {
  const name = trueName(file);
  return h("button", {
    type: "button", class: small ? "icon-button" : "button primary", "aria-label": `Download ${name}`, title: `Download ${name}`,
    data: { testid: "download", filename: file.filename }, disabled: !isSafe(file.url),
    on: { click: (event) => download(file, event.currentTarget) },
  }, icon("download"), small ? null : "Download");
}

// Through a blob, since a link to another origin would not keep the name.
async function download(file, button) {
  button.disabled = true;
  try {
    const answer = await fetch(file.url, { credentials: "omit" });
    if (!answer.ok) throw new Error(`The file server answered ${answer.status}.`);
    const address = URL.createObjectURL(await answer.blob());
    const anchor = h("a", { href: address, download: trueName(file) });
    document.body.append(anchor);
    anchor.click();
    anchor.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    emit("downloaded", file);
  } catch (error) {
    toast(`${trueName(file)} could not be downloaded. ${error.message}`);
  }
  button.disabled = false;
}
