// Builds DOM nodes. Data only ever becomes text nodes, attributes from a fixed set and checked colours,
// so a hostile message can look odd but never run.

const SVG = "http://www.w3.org/2000/svg";

/** Makes one element. `props`: class, text, data, on, and plain attributes (false and null leave one out). */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.className = value;
    else if (key === "text") node.textContent = value;
    else if (key === "data") for (const [k, v] of Object.entries(value)) node.dataset[k] = v;
    else if (key === "on") for (const [name, fn] of Object.entries(value)) node.addEventListener(name, fn);
    else if (key === "value") node.value = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Takes all children out and puts these in. */
export function refill(node, ...children) {
  node.replaceChildren();
  append(node, children);
}

// Outlines on a 24 × 24 grid.
const ICONS = {
  menu: ["M4 6h16", "M4 12h16", "M4 18h16"],
  back: ["M15 5l-7 7 7 7"],
  close: ["M6 6l12 12", "M18 6L6 18"],
  send: ["M4 12l16-8-6 16-3-7z"],
  plus: ["M12 5v14", "M5 12h14"],
  more: ["M5 12h.01", "M12 12h.01", "M19 12h.01"],
  hash: ["M5 9h15", "M4 15h15", "M10 4L8 20", "M16 4l-2 16"],
  thread: ["M4 5h16v11H10l-4 4v-4H4z", "M8 9h8", "M8 12h5"],
  reply: ["M9 7l-5 5 5 5", "M4 12h9a7 7 0 0 1 7 7"],
  edit: ["M4 20l1-5L16 4l4 4L9 19z"],
  trash: ["M5 7h14", "M9 7V4h6v3", "M7 7l1 13h8l1-13"],
  copy: ["M8 8h11v12H8z", "M5 16V4h11"],
  download: ["M12 4v11", "M7 11l5 5 5-5", "M5 20h14"],
  file: ["M6 3h8l4 4v14H6z", "M14 3v4h4"],
  eye: ["M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12z", "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z"],
  help: ["M9 9a3 3 0 1 1 4 2.8c-.8.4-1 1-1 2.2", "M12 17.5h.01", "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z"],
  check: ["M5 12.5l5 5L19 7"],
  down: ["M6 9l6 6 6-6"],
  right: ["M9 6l6 6-6 6"],
  external: ["M14 4h6v6", "M20 4l-9 9", "M18 14v6H4V6h6"],
  at: ["M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z", "M16 8v5a2.5 2.5 0 0 0 5 0v-1a9 9 0 1 0-3.5 7.1"],
  offline: ["M3 3l18 18", "M5 10a11 11 0 0 1 4-2.4", "M19 10a11 11 0 0 0-5-2.8", "M8.5 13.5a5 5 0 0 1 7 0", "M12 18h.01"],
};

/** A decorative icon: hidden from screen readers, so its button needs a name of its own. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  for (const d of ICONS[name] ?? []) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", d);
    svg.append(path);
  }
  return svg;
}

/** `color` if it is a plain hex colour, else a calm grey. */
export function safeColor(color) {
  return typeof color === "string" && /^#[0-9a-f]{3,8}$/i.test(color) ? color : "#747f8d";
}

/** A round picture made of up to two initials. */
export function avatar(person, extra = "") {
  const name = String(person?.name ?? "?").trim();
  const words = name.split(/[\s\-_]+/u).filter(Boolean);
  const initials = words.slice(0, 2).map((word) => [...word][0]).join("").toUpperCase() || "?";
  const node = h("span", { class: `avatar ${extra}`, "aria-hidden": "true", text: initials });
  const color = safeColor(person?.color);
  node.style.setProperty("--avatar", color);
  node.style.setProperty("--initials", isLight(color) ? "#1e1f22" : "#ffffff");
  return node;
}

function isLight(color) {
  const hex = color.length < 7 ? [...color.slice(1, 4)].map((c) => c + c).join("") : color.slice(1, 7);
  const [r, g, b] = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 150;
}

/** A number of bytes as people write it. */
export function bytes(size) {
  if (size < 1000) return `${size} byte${size === 1 ? "" : "s"}`;
  const units = ["KB", "MB", "GB"];
  let value = size / 1024;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Says `text` at the foot of the page for a while; also to screen readers. */
export function toast(text) {
  const holder = document.getElementById("toasts");
  const node = h("div", { class: "toast", text });
  holder.append(node);
  setTimeout(() => node.remove(), 6000);
}

/** Says `text` to screen readers only. */
export function announce(text) {
  const live = document.getElementById("live");
  const line = h("p", { text });
  live.append(line);
  while (live.childElementCount > 5) live.firstElementChild.remove();
}
