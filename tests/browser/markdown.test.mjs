// The markdown tree without a browser.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

const source = await readFile(new URL("../../src/sim/page/markdown.js", import.meta.url), "utf8");
const { parse, plain } = await import(`data:text/javascript,${encodeURIComponent(source)}`);

const text = (v) => ({ t: "text", v });
const para = (...c) => [{ t: "p", c }];

const TABLE = [
  ["plain", para(text("plain"))],
  ["**b**", para({ t: "b", c: [text("b")] })],
  ["*i* _j_", para({ t: "i", c: [text("i")] }, text(" "), { t: "i", c: [text("j")] })],
  ["__u__ ~~s~~", para({ t: "u", c: [text("u")] }, text(" "), { t: "s", c: [text("s")] })],
  ["***both***", para({ t: "b", c: [{ t: "i", c: [text("both")] }] })],
  ["**a *b* c**", para({ t: "b", c: [text("a "), { t: "i", c: [text("b")] }, text(" c")] })],
  ["snake_case_name", para(text("snake_case_name"))],
  ["2 * 3 * 4", para(text("2 * 3 * 4"))],
  ["\\*no\\*", para(text("*no*"))],
  ["`**code**`", para({ t: "code", v: "**code**" })],
  ["``a ` b``", para({ t: "code", v: "a ` b" })],
  ["||x||", para({ t: "spoiler", c: [text("x")] })],
  ["a\nb", para(text("a"), { t: "br" }, text("b"))],
  ["# H\ntext", [{ t: "h", level: 1, c: [text("H")] }, ...para(text("text"))]],
  ["#no", para(text("#no"))],
  ["-# small", [{ t: "small", c: [text("small")] }]],
  ["> q\n> r\nafter", [{ t: "quote", c: para(text("q"), { t: "br" }, text("r")) }, ...para(text("after"))]],
  [">>> all\nof it", [{ t: "quote", c: para(text("all"), { t: "br" }, text("of it")) }]],
  ["- a\n  - b\n- c", [{ t: "list", ordered: false, start: 1, items: [[text("a"), { t: "list", ordered: false, start: 1, items: [[text("b")]] }], [text("c")]] }]],
  ["- a\n3. b", [{ t: "list", ordered: false, start: 1, items: [[text("a")]] }, { t: "list", ordered: true, start: 3, items: [[text("b")]] }]],
  ["```rust\nfn a() {}\n```", [{ t: "codeblock", lang: "rust", v: "fn a() {}" }]],
  ["```one line```", [{ t: "codeblock", lang: "", v: "one line" }]],
  ["see ```x``` there", [...para(text("see ")), { t: "codeblock", lang: "", v: "x" }, ...para(text(" there"))]],
  ["[l](https://a.b/c_(d))", para({ t: "link", href: "https://a.b/c_(d)", c: [text("l")] })],
  ["[x](javascript:alert(1))", para(text("[x](javascript:alert(1))"))],
  ["[https://good](https://bad)", para(text("[https://good](https://bad)"))],
  ["go https://a.b/c.", para(text("go "), { t: "link", href: "https://a.b/c", c: [text("https://a.b/c")] }, text("."))],
  ["<https://a.b>", para({ t: "link", href: "https://a.b", c: [text("https://a.b")] })],
  ["<@12> <@!13> <#14> <@&15>", para({ t: "user", id: "12" }, text(" "), { t: "user", id: "13" }, text(" "), { t: "channel", id: "14" }, text(" "), { t: "role", id: "15" })],
  ["<t:1700000000:R>", para({ t: "time", unix: 1_700_000_000, style: "R" })],
  ["@everyone", para({ t: "everyone", v: "@everyone" })],
  ["<b>&amp;", para(text("<b>&amp;"))],
  ["```never closed", para(text("```never closed"))],
];

for (const [source_, wanted] of TABLE) {
  test(`markdown of ${JSON.stringify(source_)}`, () => assert.deepEqual(parse(source_), wanted));
}

test("plain text has no marks", () => {
  assert.equal(plain("# A\n**b** `c` ||d|| [e](https://f.g)\n- h"), "A b c (hidden) e h");
});

test("hostile nesting is bounded in time and depth", () => {
  const began = performance.now();
  for (const piece of ["*", "**", "_", "||", "> ", "`", "[", "- ", "~~", "<", "https://", "**_~~||", "```\n", "[a](https://b"]) {
    assert.doesNotThrow(() => parse(piece.repeat(Math.floor(4000 / piece.length))));
  }
  assert.ok(performance.now() - began < 3000, "fourteen messages of 4,000 characters take under 3 s");
});
