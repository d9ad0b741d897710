// The control API of docs/simulator.md with canned data, for tests of the page alone. Serves the page's files from
// src/sim/page with the headers that the simulator sends, and files from a second origin, as the CDN does.

import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { canned, hostCard } from "./canned.mjs";

const PAGE = fileURLToPath(new URL("../../src/sim/page/", import.meta.url));
const TYPES = { html: "text/html; charset=utf-8", css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8", svg: "image/svg+xml" };

const listenOn = (server) => new Promise((done) => server.listen(0, "127.0.0.1", () => done(server.address().port)));

export class Mock {
  token = randomBytes(8).toString("hex");
  streams = new Set();
  interactions = new Map();
  calls = [];
  files = new Map();
  serial = 5_000_000_000_000_000_000n;

  static async start(options = {}) {
    const mock = new Mock();
    mock.cdn = createServer((request, answer) => mock.serveFile(request, answer));
    mock.cdnBase = `http://127.0.0.1:${await listenOn(mock.cdn)}`;
    mock.world = canned(mock, options);
    mock.server = createServer((request, answer) => mock.serve(request, answer).catch((error) => mock.json(answer, 500, { error: String(error) })));
    mock.base = `http://127.0.0.1:${await listenOn(mock.server)}`;
    mock.url = `${mock.base}/?t=${mock.token}`;
    return mock;
  }

  async close() {
    for (const stream of this.streams) stream.answer.destroy();
    this.server.closeAllConnections();
    this.cdn.closeAllConnections();
    await Promise.all([this.server, this.cdn].map((server) => new Promise((done) => server.close(done))));
  }

  id() {
    this.serial += 4_194_304n;
    return String(this.serial);
  }

  /** Keeps `bytes` as a file of the CDN; gives the attachment object. */
  file(filename, bytes, contentType, more = {}) {
    const id = this.id();
    const buffer = Buffer.from(bytes);
    const path = `/attachments/1/${id}/${encodeURIComponent(filename)}`;
    this.files.set(path, { buffer, contentType });
    return { id, filename, title: null, description: null, size: buffer.length, content_type: contentType, url: `${this.cdnBase}${path}?ex=1&is=1&hm=1&`,
      sha256: createHash("sha256").update(buffer).digest("hex"), ...more };
  }

  serveFile(request, answer) {
    const file = this.files.get(new URL(request.url, "http://x").pathname);
    const headers = { "Access-Control-Allow-Origin": this.base, "X-Content-Type-Options": "nosniff" };
    if (!file) return answer.writeHead(404, { ...headers, "Content-Type": "text/plain" }).end("This content is no longer available.");
    return answer.writeHead(200, { ...headers, "Content-Type": file.contentType, "Content-Length": file.buffer.length }).end(file.buffer);
  }

  json(answer, status, value) {
    answer.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
  }

  async serve(request, answer) {
    const url = new URL(request.url, this.base);
    if (url.pathname === "/" && url.searchParams.get("t") === this.token) {
      answer.writeHead(303, { "Set-Cookie": `t=${this.token}; HttpOnly; SameSite=Strict; Path=/`, Location: "/" }).end();
      return;
    }
    if (!(request.headers.cookie ?? "").includes(`t=${this.token}`)) return this.json(answer, 403, { error: "The token is missing." });
    if (url.pathname === "/" || url.pathname.startsWith("/assets/")) return this.asset(url.pathname, answer);
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const raw = Buffer.concat(chunks);
    const body = request.headers["content-type"] === "application/json" ? JSON.parse(raw.toString() || "{}") : raw;
    if (request.method === "POST") this.calls.push({ path: url.pathname, query: Object.fromEntries(url.searchParams), body });
    const name = url.pathname.replace("/control/", "");
    const handler = this[`on_${name}`];
    if (!handler) return this.json(answer, 404, { error: "No such call." });
    return handler.call(this, { query: Object.fromEntries(url.searchParams), body, answer });
  }

  async asset(path, answer) {
    const name = path === "/" ? "index.html" : path.slice("/assets/".length);
    const cdn = this.cdnBase;
    try {
      const bytes = await readFile(PAGE + name);
      answer.writeHead(200, {
        "Content-Type": TYPES[name.split(".").pop()],
        "Content-Security-Policy": `default-src 'self'; img-src 'self' ${cdn}; media-src 'self' ${cdn}; connect-src 'self' ${cdn}; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
        "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
      }).end(bytes);
    } catch {
      answer.writeHead(404).end();
    }
  }

  // What `as` sees.
  sees(message, as) {
    return !message.ephemeral || message.for_user === as;
  }

  push(event, only = null) {
    for (const stream of this.streams) {
      if (only && stream.as !== only) continue;
      if (event.message && !this.sees(event.message, stream.as)) continue;
      stream.answer.write(`data: ${JSON.stringify(event)}\n\n`);
    }
  }

  add(message) {
    this.world.messages.push(message);
    const channel = this.world.channels.find((one) => one.id === message.channel_id);
    channel.last_message_id = message.id;
    channel.message_count += 1;
    this.push({ type: "message", message });
    return message;
  }

  update(id, change) {
    const message = this.world.messages.find((one) => one.id === id);
    Object.assign(message, change);
    this.push({ type: "message_update", message });
  }

  on_state({ query, answer }) {
    const { guild, bot, people, channels, botOnline } = this.world;
    if (query.as && !people.some((person) => person.id === query.as)) return this.json(answer, 404, { error: "There is no such person." });
    return this.json(answer, 200, { guild, bot, people, channels, bot_online: botOnline, now_ms: Date.now() });
  }

  on_messages({ query, answer }) {
    const all = this.world.messages.filter((message) => message.channel_id === query.channel && this.sees(message, query.as))
      .filter((message) => !query.before || BigInt(message.id) < BigInt(query.before));
    const limit = Number(query.limit ?? 100);
    this.json(answer, 200, { messages: all.slice(-limit), has_more: all.length > limit });
  }

  on_events({ query, answer }) {
    answer.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    const stream = { as: query.as, answer };
    this.streams.add(stream);
    answer.on("close", () => this.streams.delete(stream));
    answer.write('data: {"type":"hello"}\n\n');
  }

  person(id) {
    return this.world.people.find((person) => person.id === id) ?? this.world.bot;
  }

  message(as, channel, fields) {
    const { id, name, bot, color } = { color: "#5865f2", bot: true, ...this.person(as) };
    return { id: this.id(), channel_id: channel, author: { id, name, bot, color }, timestamp_ms: Date.now(), edited_ms: null, content: "", type: 0, flags: 0,
      ephemeral: false, for_user: null, reply_to: null, attachments: [], components: [], reactions: [], thread_id: null, mentions: [], ...fields };
  }

  on_say({ body, answer }) {
    const to = this.world.messages.find((one) => one.id === body.reply_to);
    const message = this.add(this.message(body.as, body.channel, { content: body.content,
      reply_to: to ? { id: to.id, author_name: to.author.name, content: to.content.slice(0, 100) } : null, type: to ? 19 : 0 }));
    this.json(answer, 200, { message_id: message.id });
  }

  on_upload({ query, body, answer }) {
    const attachment = this.file(query.filename, body, "text/plain");
    const message = this.add(this.message(query.as, query.channel, { content: query.content ?? "", attachments: [attachment] }));
    this.json(answer, 200, { message_id: message.id, attachment_id: attachment.id });
  }

  on_edit({ body, answer }) {
    this.update(body.message, { content: body.content, edited_ms: Date.now() });
    this.json(answer, 200, {});
  }

  on_delete({ body, answer }) {
    this.world.messages = this.world.messages.filter((message) => message.id !== body.message);
    this.push({ type: "message_delete", channel_id: body.channel, message_ids: [body.message] });
    this.json(answer, 200, {});
  }

  on_react({ body, answer }) {
    const message = this.world.messages.find((one) => one.id === body.message);
    const known = message.reactions.find((reaction) => reaction.emoji === body.emoji);
    const reactions = known ? message.reactions.map((one) => (one === known ? { ...one, count: one.count + 1, me: true } : one))
      : [...message.reactions, { emoji: body.emoji, count: 1, me: true }];
    this.update(body.message, { reactions });
    this.json(answer, 200, {});
  }

  // A custom id names what the mocked bot does: `…:fail:…`, `…:ask:…` (Label form), `…:rows:…`, `…:private:…`, `…:slow:…`, else a plain answer.
  on_tap({ body, answer }) {
    const id = this.id();
    const does = body.custom_id.split(":")[2];
    this.interactions.set(id, { state: "waiting", kind: null, answered_after_ms: null, modal: null, reply: null, as: body.as, channel: body.channel });
    this.json(answer, 200, { interaction_id: id });
    setTimeout(() => this.settle(id, does, body), does === "slow" ? 400 : 30);
  }

  settle(id, does, { as, channel, values }) {
    const known = this.interactions.get(id);
    if (does === "lost") return Object.assign(known, { state: "answered", kind: 6 });
    if (does === "fail" || does === "form-fail") {
      known.state = "failed";
      return this.push({ type: "interaction", interaction_id: id, state: "failed", error: null }, as);
    }
    Object.assign(known, { state: "answered", kind: 4 });
    const form = does === "ask" ? this.world.labelForm : does === "rows" ? this.world.rowForm : null;
    if (form) {
      known.modal = form;
      this.push({ type: "modal", interaction_id: id, ...form }, as);
    } else {
      const host = { pair: { paired: true }, on: { on: true, paired: true } }[does];
      if (host) this.update(this.world.hostMessage.id, { components: hostCard(Object.assign(this.world.host, host)) });
      const says = { pair: "You are paired now, **Olive**: this machine is yours.", on: "The host is **On**." }[does] ?? `Taken: ${values ? values.join(", ") : does}.`;
      this.add(this.message(this.world.bot.id, channel, { content: says, flags: 64, ephemeral: true, for_user: as }));
    }
    return this.push({ type: "interaction", interaction_id: id, state: "answered", error: null }, as);
  }

  on_interaction({ query, answer }) {
    const known = this.interactions.get(query.id);
    return known ? this.json(answer, 200, known) : this.json(answer, 404, { error: "There is no such interaction." });
  }

  on_submit({ body, answer }) {
    const press = this.interactions.get(body.interaction_id);
    const id = this.id();
    this.interactions.set(id, { state: "waiting", kind: null, as: body.as, channel: press.channel });
    this.json(answer, 200, { interaction_id: id });
    const fails = Object.values(body.fields).includes("fail");
    setTimeout(() => this.settle(id, fails ? "form-fail" : `form ${JSON.stringify(body.fields)}`, { as: body.as, channel: press.channel }), 60);
  }
}

// Run by hand: prints the address and stays, for work on the page.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mock = await Mock.start();
  console.log(mock.url);
}
