// A small world that has one of everything that the page can show.

const MINUTE = 60_000;

export const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==", "base64");

// An SVG that would tell on us if its script ran.
const CHART = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 180" width="320" height="180"><script>window.parent.hacked = 1</script>
<rect width="320" height="180" fill="#fff"/><g font-family="sans-serif" font-size="11" fill="#333"><text x="12" y="20" font-size="13" font-weight="bold">Lines by language</text>
<text x="12" y="52">Rust</text><rect x="80" y="40" width="210" height="16" rx="3" fill="#5865f2"/><text x="12" y="82">Markdown</text><rect x="80" y="70" width="120" height="16" rx="3" fill="#3ba55d"/>
<text x="12" y="112">JavaScript</text><rect x="80" y="100" width="90" height="16" rx="3" fill="#f0b232"/><text x="12" y="142">TOML</text><rect x="80" y="130" width="24" height="16" rx="3" fill="#ed4245"/></g></svg>`;

const REPORT = `# Report on project\n\nFiles: 42\nLines: 4711\n\n| language | files | lines |\n|---|---|---|\n${Array.from({ length: 30 }, (_, n) => `| lang${n} | ${n} | ${n * 10} |`).join("\n")}\n`;

export const HOSTILE = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script> <b>not bold</b> [click](javascript:window.hacked=1) <javascript:alert(1)> [https://good.example](https://bad.example) \`<i>code</i>\` https://example.com/"onmouseover="window.hacked=1`;

export const MARKDOWN = `# Heading one
## Heading two
### Heading three
Plain **bold** *italic* _also_ __under__ ~~struck~~ ***both*** \`inline code\` and \\*not\\* 1 * 2 * 3 snake_case_name
> a quote with **weight**
> and a second line
- first
- second
  - nested
1. one
2. two
-# small print
\`\`\`rust
fn main() { println!("<b>hi</b>"); }
\`\`\`
||a spoiler|| and [a link](https://example.com/a_(b)) and https://example.com/x?y=1.
<@101> asked in <#201>, <t:1700000000:D>, <t:1700000000:R> https://discord.com/channels/1/203`;

const button = (style, label, verb, more = {}) => ({ type: 2, style, label, custom_id: `dos1:k1:${verb}:h1:m1:AAAA`, ...more });
const text = (content) => ({ type: 10, content });

// As the host draws it.
export function hostCard({ on = false, paired = false } = {}) {
  const ago = `<t:${Math.floor(Date.now() / 1000) - 60}:R>`;
  const verb = (style, label, name, enabled) => button(style, label, name, { disabled: !enabled });
  const menu = { type: 1, components: [{ type: 3, custom_id: "dos1:k1:jobs:h1:m1:BBBB", placeholder: "Recent jobs", options: [
    { label: "DOS-2 · Waiting for your yes", value: "dos-2", description: "Tidy the changelog" }, { label: "DOS-1 · Done", value: "dos-1", description: "Report on this folder" }] }] };
  return [{ type: 17, accent_color: on ? 0x23a55a : 0x80848e, components: [
    text(on ? `### HOST · Running\nTurned on by Olive ${ago}. Write a sentence here, or tap Ask.` : `### HOST · Stopped\nTurned off by the host itself ${ago}. The machine was started anew. Tap On to take work.`),
    text(`**Discord** connected · heartbeat ${ago}\n**Jobs** ${on ? "1 waiting for a yes" : "none live, queued or waiting"}\n**Spend** ${on ? "`▰▱▱▱▱▱▱▱▱▱` $0.12 of $10.00" : "nothing yet"}\n**People** ${paired ? "Olive (owner)" : "nobody is paired yet"}\n**Work** demo agent (free) in \`workshop\``),
    text("-# Not confined: runs have the power of your account on the machine. So all but plain questions wait for your yes."),
    { type: 14, divider: true, spacing: 1 },
    { type: 1, components: [verb(3, "On", "on", !on), verb(4, "Off", "off", on), verb(1, "Ask", "ask", on), verb(paired ? 2 : 1, paired ? "Paired" : "Pair", "pair", true), verb(4, "Halt", "halt", true)] },
    ...(on ? [menu] : []),
  ] }];
}

const everyKind = (svg, png, report) => [
  { type: 17, accent_color: 0x5865f2, components: [
    text("### Every kind of part"),
    { type: 9, components: [text("A section with a **button**"), text("and a second line")], accessory: button(2, "Press", "private") },
    { type: 9, components: [text("A section with a picture")], accessory: { type: 11, media: { url: `attachment://${png.filename}` }, description: "a thumbnail" } },
    { type: 14, divider: true, spacing: 2 },
    { type: 12, items: [{ media: { url: `attachment://${svg.filename}` }, description: "a chart" }, { media: { url: png.url }, description: "a dot" }] },
    { type: 13, file: { url: `attachment://${report.filename}` } },
    { type: 1, components: [button(1, "Fails", "fail"), button(2, "Slow", "slow"), button(3, "Rows", "rows"), button(4, "Lost", "lost"), { type: 2, style: 5, label: "Receipt", url: "https://discord.com/channels/1/203/303" }] },
    { type: 1, components: [{ type: 5, custom_id: "x:x:who:1:1:1", placeholder: "Choose people", max_values: 2 }] },
    { type: 1, components: [{ type: 8, custom_id: "x:x:where:1:1:1", placeholder: "Choose a channel" }] },
    { type: 99, text: "from the future" },
  ] },
  { type: 17, spoiler: true, components: [text("Hidden container")] },
];

export function canned(mock, { empty = false } = {}) {
  const people = [
    { id: "101", name: "Olive", role: "owner", bot: false, color: "#e0a030" },
    { id: "102", name: "Tess Teammate", role: "teammate", bot: false, color: "#3ba55d" },
    { id: "103", name: "Stranger", role: "stranger", bot: false, color: "#ed4245" },
    { id: "100", name: "discord-os", role: "bot", bot: true, color: "#5865f2" },
    { id: "104", name: "other-bot", role: "bot", bot: true, color: "#9b59b6" },
  ];
  const world = {
    guild: { id: "1", name: "Workshop" }, bot: { id: "100", name: "discord-os" }, people, botOnline: true, messages: [],
    channels: [
      { id: "201", name: "host", kind: "text", parent_id: null, archived: false, last_message_id: null, message_count: 0, starter_message_id: null },
      { id: "202", name: "gallery", kind: "text", parent_id: null, archived: false, last_message_id: null, message_count: 0, starter_message_id: null },
      { id: "205", name: "history", kind: "text", parent_id: null, archived: false, last_message_id: null, message_count: 0, starter_message_id: null },
    ],
    labelForm: { custom_id: "dos1:k1:ask:h1::FORM", title: "Ask", components: [
      { type: 10, content: "What shall the machine **do**?" },
      { type: 18, label: "Order", description: "One sentence is enough.", component: { type: 4, custom_id: "order", style: 2, max_length: 200, min_length: 3, placeholder: "Report on this folder", required: true } },
      { type: 18, label: "Note", component: { type: 4, custom_id: "note", style: 1, required: false, max_length: 60 } },
      { type: 18, label: "Mode", component: { type: 3, custom_id: "mode", required: false, options: [{ label: "Read only", value: "read" }, { label: "May write", value: "write" }] } },
    ] },
    rowForm: { custom_id: "dos1:k1:rows:h1::FORM", title: "Older form", components: [
      { type: 1, components: [{ type: 4, custom_id: "title", label: "Title", style: 1, max_length: 20, value: "preset" }] },
      { type: 1, components: [{ type: 4, custom_id: "words", label: "Words", style: 2, required: false, placeholder: "as many as you like" }] },
    ] },
  };
  mock.world = world;
  const start = Date.now() - 40 * MINUTE;
  let clock = start;
  const put = (as, channel, fields) => {
    clock += MINUTE / 2;
    const message = mock.message(as, channel, { timestamp_ms: clock, ...fields });
    const place = world.channels.find((one) => one.id === channel);
    place.last_message_id = message.id;
    place.message_count += 1;
    world.messages.push(message);
    return message;
  };
  const svg = mock.file("chart.svg", CHART, "image/svg+xml", { description: "v1 sha256 ab size 9 chart" });
  const png = mock.file("dot.png", PNG, "image/png");
  const report = mock.file("report.md", REPORT, "text/markdown", { title: "报告 of the folder", description: "v1 the report" });
  world.artifact = report;
  world.host = { on: !empty, paired: !empty };
  world.hostMessage = put("100", "201", { flags: 32768, components: hostCard(world.host) });
  if (empty) return world;
  put("102", "201", { content: "Morning! Is the host up?" });
  put("102", "201", { content: "I see it is. :tada: 🎉", reactions: [{ emoji: "👀", count: 2, me: false }, { emoji: "🎉", count: 1, me: true }] });
  const asked = put("101", "201", { content: "Report on this folder", thread_id: "203" });
  world.channels.push({ id: "203", name: "DOS-1 Report on this folder", kind: "thread", parent_id: "201", archived: false, last_message_id: null, message_count: 0, starter_message_id: asked.id });
  world.channels.push({ id: "204", name: "DOS-0 an old one", kind: "thread", parent_id: "201", archived: true, last_message_id: null, message_count: 0, starter_message_id: null });
  put("100", "201", { type: 18, content: "DOS-1 Report on this folder" });
  put("100", "201", { content: "Done: https://discord.com/channels/1/203", reply_to: { id: asked.id, author_name: "Olive", content: asked.content }, type: 19, edited_ms: clock + 1000 });
  put("102", "201", { content: "<@101> nice, thank you", mentions: ["101"] });
  put("100", "201", { content: "You may not do that. Ask **Olive** to pair you.", flags: 64, ephemeral: true, for_user: "103" });
  put("100", "201", { content: "Only Olive reads this.", flags: 64, ephemeral: true, for_user: "101" });
  put("101", "202", { content: MARKDOWN });
  put("103", "202", { content: HOSTILE });
  put("100", "202", { flags: 32768, attachments: [svg, png, report], components: everyKind(svg, png, report) });
  put("100", "202", { content: "Old style rows", components: [{ type: 1, components: [button(1, "Old", "private"), button(5, "x", "x", { custom_id: undefined, url: "javascript:alert(1)", label: "Bad link" })] }] });
  put("101", "202", { content: "Files:", attachments: [svg, report, mock.file("it's \"quoted\" & <b>.bin", Buffer.alloc(70_000, 7), "application/octet-stream"), mock.file("SPOILER_dot.png", PNG, "image/png")] });
  put("100", "202", { flags: 128 });
  put("101", "202", { content: "🎉 🎉" });
  put("101", "202", { content: "x".repeat(300) });
  world.jobCard = put("100", "203", { flags: 32768, components: jobCard("Reading 12 of 42 files …") });
  const made = put("100", "203", { content: "What DOS-1 made: a report and a chart.", attachments: [report, svg] });
  put("100", "203", { flags: 32768, components: [{ type: 17, accent_color: 0x23a55a, components: [
    text(`### Receipt DOS-1 · Done\n> Report on this folder`), text("Counted **42 files** with **4,711 lines**. The report has the rest."),
    text(`**Artifacts**\n- text · 716 bytes · [report.md](https://discord.com/channels/1/203/${made.id})\n- image · 722 bytes · [chart.svg](https://discord.com/channels/1/203/${made.id})`),
    text("**Backend** demo agent · **model** none\n**Tokens** 0 in, 0 out\n**Money** free (exact)\n**Time** 3.2 s · **processes ended** 1\n**Asked by** Olive · **turn** 1\n-# run r1"),
  ] }] });
  for (let n = 0; n < 260; n += 1) put(n % 2 ? "101" : "102", "205", { content: `line ${n}` });
  world.firstLine = world.messages.find((one) => one.content === "line 0");
  return world;
}

export function jobCard(tail, state = "Running") {
  return [{ type: 17, accent_color: 0x23a55a, components: [text(`### DOS-1 · ${state}\n> Report on this folder\nby Olive · started <t:${Math.floor(Date.now() / 1000) - 4}:R>`),
    text(`- listed the folder\n- ${tail}`), text("-# demo agent · free\n-# Not confined: this run has the power of your account on the machine."), { type: 1, components: [button(4, "Cancel", "cancel")] }] }];
}
