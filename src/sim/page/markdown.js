// Discord's markdown, parsed into a tree of plain objects. No DOM here: richtext.js draws the tree.
//
// Blocks: { t: "p" | "quote" | "h" | "small" | "list" | "codeblock", … }
// Inline: { t: "text" | "br" | "b" | "i" | "u" | "s" | "spoiler" | "code" | "link" | "user" | "role" |
//           "channel" | "time" | "emoji" | "command" | "everyone", … }

// Nesting deeper than this stays text: nobody reads it, and it bounds the work that a hostile message makes.
const MAX_DEPTH = 10;

const FENCE = /```(?:([a-z0-9_+\-.#]{1,20})\n)?\n?([\s\S]*?[^\n`][\s\S]*?)\n?```\n?/iy;
const QUOTE_REST = />>> ([\s\S]*)/y;
const QUOTE_LINES = /(?:> [^\n]*(?:\n|$)|>(?:\n|$))+/y;
const HEADING = /(#{1,3}) +([^\n]+)(?:\n|$)/y;
const SMALL = /-# +([^\n]+)(?:\n|$)/y;
const LIST = /(?: {0,8}(?:[-*]|\d{1,9}\.) +[^\n]+(?:\n|$))+/y;
const ITEM = /^( {0,20})([-*]|\d{1,9}\.) +(.*)$/;

function at(regex, text, pos) {
  regex.lastIndex = pos;
  return regex.exec(text);
}

/** The tree of `text`. */
export function parse(text, depth = 0) {
  const out = [];
  const source = String(text ?? "").replace(/\r\n?/g, "\n");
  let pos = 0;
  let plain = "";
  const flush = () => {
    if (plain !== "") out.push({ t: "p", c: inline(plain.replace(/\n$/, ""), depth + 1) });
    plain = "";
  };
  while (pos < source.length) {
    const lineStart = pos === 0 || source[pos - 1] === "\n";
    const found = (lineStart && depth < MAX_DEPTH && block(source, pos, depth)) || fence(source, pos);
    if (found) {
      flush();
      out.push(found.node);
      pos = found.end;
      continue;
    }
    const end = nextStop(source, pos);
    plain += source.slice(pos, end);
    pos = end;
  }
  flush();
  return out;
}

// To the end of the line, or to a fence that opens within it.
function nextStop(source, pos) {
  const newline = source.indexOf("\n", pos);
  const lineEnd = newline < 0 ? source.length : newline + 1;
  const tick = source.indexOf("```", pos + 1);
  return tick > 0 && tick < lineEnd ? tick : lineEnd;
}

function fence(source, pos) {
  if (source[pos] !== "`") return null;
  const m = at(FENCE, source, pos);
  return m && { node: { t: "codeblock", lang: m[1] ?? "", v: m[2] }, end: pos + m[0].length };
}

function block(source, pos, depth) {
  let m = at(QUOTE_REST, source, pos);
  if (m) return { node: { t: "quote", c: parse(m[1], depth + 1) }, end: source.length };
  m = at(QUOTE_LINES, source, pos);
  if (m) {
    const inner = m[0].replace(/\n$/, "").replace(/^> ?/gm, "");
    return { node: { t: "quote", c: parse(inner, depth + 1) }, end: pos + m[0].length };
  }
  m = at(HEADING, source, pos);
  if (m) return { node: { t: "h", level: m[1].length, c: inline(m[2], depth + 1) }, end: pos + m[0].length };
  m = at(SMALL, source, pos);
  if (m) return { node: { t: "small", c: inline(m[1], depth + 1) }, end: pos + m[0].length };
  m = at(LIST, source, pos);
  if (m) {
    const lines = oneList(m[0].replace(/\n$/, "").split("\n"));
    return { node: list(lines, depth), end: pos + Math.min(lines.join("\n").length + 1, m[0].length) };
  }
  return null;
}

const isOrdered = (line) => /\d/.test(ITEM.exec(line)[2]);

// A list ends where bullets turn into numbers, or numbers into bullets, at its own depth.
function oneList(lines) {
  const indent = ITEM.exec(lines[0])[1].length;
  const end = lines.findIndex((line) => ITEM.exec(line)[1].length <= indent && isOrdered(line) !== isOrdered(lines[0]));
  return end < 0 ? lines : lines.slice(0, end);
}

// Lines of items; deeper indented lines belong to the item above them.
function list(lines, depth) {
  const first = ITEM.exec(lines[0]);
  const indent = first[1].length;
  const ordered = isOrdered(lines[0]);
  const items = [];
  for (let n = 0; n < lines.length; n += 1) {
    const m = ITEM.exec(lines[n]);
    if (items.length > 0 && m[1].length > indent && depth < MAX_DEPTH) {
      const start = n;
      while (n + 1 < lines.length && ITEM.exec(lines[n + 1])[1].length > indent) n += 1;
      items.at(-1).push(list(lines.slice(start, n + 1), depth + 1));
    } else {
      items.push(inline(m[3], depth + 1));
    }
  }
  return { t: "list", ordered, start: ordered ? parseInt(first[2], 10) : 1, items };
}

const INLINE = [
  [/\\([^A-Za-z0-9\s])/y, (m) => ({ t: "text", v: m[1] })],
  [/(`{1,2})(?!`)([\s\S]*?[^`])\1(?!`)/y, (m) => ({ t: "code", v: m[2].trim() || m[2] })],
  [/<(https?:\/\/[^\s<>]+)>/iy, (m) => ({ t: "link", href: m[1], c: [{ t: "text", v: m[1] }] })],
  [/<@!?(\d{1,20})>/y, (m) => ({ t: "user", id: m[1] })],
  [/<@&(\d{1,20})>/y, (m) => ({ t: "role", id: m[1] })],
  [/<#(\d{1,20})>/y, (m) => ({ t: "channel", id: m[1] })],
  [/<t:(-?\d{1,13})(?::([tTdDfFsSR]))?>/y, (m) => ({ t: "time", unix: Number(m[1]), style: m[2] ?? "f" })],
  [/<a?:(\w{2,32}):\d{1,20}>/y, (m) => ({ t: "emoji", name: m[1] })],
  [/<\/([-\w ]{1,100}):\d{1,20}>/y, (m) => ({ t: "command", name: m[1] })],
  [/\[((?:\\.|[^\]\\\n])+)\]\(\s*<?(https?:\/\/(?:[^\s<>()]|\([^\s<>()]*\))+)>?(?:\s+"[^"\n]*")?\s*\)/iy, masked],
  [/https?:\/\/[^\s<]+/iy, bareLink],
  [/\*\*((?:\\.|[^\\])+?)\*\*(?!\*)/y, (m, d) => wrap("b", m[1], d)],
  [/__((?:\\.|[^\\])+?)__(?!_)/y, (m, d) => wrap("u", m[1], d)],
  [/~~((?:\\.|[^\\])+?)~~(?!~)/y, (m, d) => wrap("s", m[1], d)],
  [/\|\|((?:\\.|[^\\])+?)\|\|/y, (m, d) => wrap("spoiler", m[1], d)],
  [/\*(?=[^\s*])((?:\\.|\*\*|[^*\\])+?)\*(?!\*)/y, (m, d) => (/\s$/.test(m[1]) ? null : wrap("i", m[1], d))],
  [/_(?=\S)((?:\\.|__|[^_\\])+?)_(?![A-Za-z0-9_])/y, (m, d, before) => (/\w$/.test(before) ? null : wrap("i", m[1], d))],
  [/@(everyone|here)\b/y, (m) => ({ t: "everyone", v: m[0] })],
  [/\n/y, () => ({ t: "br" })],
];

function wrap(t, inner, depth) {
  return { t, c: inline(inner, depth + 1) };
}

// A label that itself reads as an address could lie about where it leads: then the source is shown as it is.
function masked(m, depth) {
  if (/https?:\/\//i.test(m[1])) return { t: "text", v: m[0] };
  return { t: "link", href: m[2], c: inline(m[1], depth + 1, false) };
}

function bareLink(m) {
  let href = m[0];
  while (/[.,:;!?"'*_~|]$/.test(href) || (/\)$/.test(href) && !href.includes("("))) href = href.slice(0, -1);
  return href.length > "https://".length ? { t: "link", href, c: [{ t: "text", v: href }], taken: href.length } : null;
}

const SPECIAL = /[\\`<[h*_~|@\n]/gi;

/** The inline tree of `text`. */
export function inline(text, depth = 0, links = true) {
  const out = [];
  let pos = 0;
  const push = (v) => {
    if (out.at(-1)?.t === "text") out.at(-1).v += v;
    else out.push({ t: "text", v });
  };
  while (pos < text.length) {
    const found = depth < MAX_DEPTH ? match(text, pos, depth, links) : null;
    if (found) {
      if (found.node.t === "text") push(found.node.v);
      else out.push(found.node);
      pos += found.taken;
      continue;
    }
    SPECIAL.lastIndex = pos + 1;
    const stop = SPECIAL.exec(text)?.index ?? text.length;
    push(text.slice(pos, stop));
    pos = stop;
  }
  return out;
}

function match(text, pos, depth, links) {
  for (const [regex, make] of INLINE) {
    const m = at(regex, text, pos);
    if (!m) continue;
    const node = make(m, depth, text.slice(Math.max(0, pos - 1), pos));
    if (!node || (node.t === "link" && !links)) continue;
    const taken = node.taken ?? m[0].length;
    delete node.taken;
    return { node, taken };
  }
  return null;
}

/** `text` without its marks: for previews, names and screen readers. */
export function plain(text) {
  const flat = (nodes) => nodes.map(one).join("");
  const one = (node) => {
    if (Array.isArray(node)) return flat(node);
    switch (node.t) {
      case "text": case "code": case "codeblock": case "everyone": return node.v;
      case "br": return " ";
      case "spoiler": return "(hidden)";
      case "emoji": return `:${node.name}:`;
      case "command": return `/${node.name}`;
      case "user": case "role": return "@someone";
      case "channel": return "#channel";
      case "time": return new Date(node.unix * 1000).toLocaleString();
      case "list": return node.items.map((item) => `${flat(item)} `).join("");
      case "p": case "h": case "small": case "quote": return `${flat(node.c)} `;
      default: return flat(node.c ?? []);
    }
  };
  return flat(parse(text)).replace(/\s+/g, " ").trim();
}
