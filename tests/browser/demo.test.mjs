// The demo as a newcomer meets it: one command, one address, a phone-sized page, and a real subprocess at work.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, openPage, PHONE } from "./chromium.mjs";
import { back, button, card, count, Demo, enabled, generate, pairAndTurnOn, PATIENCE, say, watchCard } from "./demo.mjs";

const OUT = fileURLToPath(new URL("./out/", import.meta.url));
const SENTENCE = "Report on this folder";
const RECEIPT = /^Receipt DOS-\d+/;

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const figures = (report) => ({ files: Number(/^Files: (\d+)$/m.exec(report)?.[1]), lines: Number(/^Lines: (\d+)$/m.exec(report)?.[1]) });

let browser;
before(async () => {
  await mkdir(OUT, { recursive: true });
  browser = await launch();
});
after(() => browser?.close());

const phone = (options = {}) => openPage(browser, { ...PHONE, colorScheme: "dark", timeout: PATIENCE, ...options });

/** Looks at what is on screen: keeps a picture, and fails where one would have to scroll sideways. */
async function look(page, name) {
  await page.screenshot({ path: `${OUT}demo-${name}.png` });
  const wider = await page.evaluate(() => {
    const scroller = document.getElementById("scroller");
    return [document.documentElement.scrollWidth - innerWidth, scroller.scrollWidth - scroller.clientWidth];
  });
  assert.deepEqual(wider, [0, 0], `${name} needs no sideways scrolling`);
}

/** Has a job done to its receipt, with a yes where it is asked for, and gives the report's bytes. */
async function job(page, words, name) {
  await say(page, words);
  await watchCard(page);
  const approve = button(page, "Approve");
  await approve.or(card(page, RECEIPT)).first().waitFor();
  if (await approve.isVisible()) {
    if (name) await look(page, `${name}-approve`);
    await approve.click();
  }
  await card(page, /DOS-\d+ · Running/).or(card(page, RECEIPT)).first().waitFor();
  if (name) await look(page, `${name}-running`);
  await card(page, RECEIPT).waitFor();
  assert.match(await card(page, RECEIPT).innerText(), /Receipt DOS-\d+ · Done/);
  return download(page);
}

async function download(page) {
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator("[data-testid=download][data-filename='report.md']").last().click()]);
  assert.equal(file.suggestedFilename(), "report.md");
  return readFile(await file.path());
}

describe("the demo", () => {
  let demo;
  let address;
  let olive;
  let staff;

  before(async () => {
    demo = await Demo.make();
    await generate(demo.folder);
    address = await demo.start();
    olive = await phone();
    await olive.page.goto(address);
    await button(olive.page, "Pair").waitFor();
  });
  after(() => demo?.remove());

  async function onDisk() {
    const hashes = [];
    for (const entry of await readdir(join(demo.workspace, "sim", "artifacts"), { withFileTypes: true, recursive: true })) {
      if (entry.name === "report.md") hashes.push(sha256(await readFile(join(entry.parentPath ?? entry.path, entry.name))));
    }
    return hashes;
  }

  test("Pair, On, a sentence, a streaming card, a receipt, and the same bytes in every place", async () => {
    const { page } = olive;
    await look(page, "fresh");
    await pairAndTurnOn(page);
    await look(page, "host");
    staff = /^#\/(\d+)/.exec(await page.evaluate(() => location.hash))[1];

    const report = await job(page, SENTENCE, "report");
    const states = await page.evaluate(() => window.states);
    assert.ok(new Set(states).size >= 3, `the card changed while it was looked at: ${JSON.stringify(states)}`);
    const running = states.filter((words) => !/Waiting/.test(words));
    assert.ok(running.at(-1).length > running[0].length, `its text grew: ${JSON.stringify(running)}`);
    await look(page, "report-receipt");
    assert.deepEqual(figures(report.toString()), await count(demo.folder), "the report's figures equal an independent count");

    const known = await demo.run("ls", "--channel-id", staff, "--fake", "--json");
    const pointer = known.find((object) => object.filename === "report.md");
    assert.equal(pointer.sha256, sha256(report));
    assert.ok(known.every((object) => !("url" in object)));
    assert.ok((await onDisk()).includes(sha256(report)), "the file on the disk");
    const out = join(demo.root, "fetched.md");
    await demo.run("get", pointer.artifact_id, "--channel-id", staff, "--fake", "--json", "--out", out);
    assert.equal(sha256(await readFile(out)), sha256(report), "the same bytes from the shell");
    await back(page);
  });

  test("a removed file changes the figures", async () => {
    const { page } = olive;
    const earlier = await count(demo.folder);
    await rm(join(demo.folder, "part 1", "deep", "er", "file 1 'quoted' 文.md"));
    const report = await job(page, `${SENTENCE} once more`);
    const now = await count(demo.folder);
    assert.notDeepEqual(now, earlier);
    assert.deepEqual(figures(report.toString()), now);
    await back(page);
  });

  test("file work waits for a yes, and a no starts nothing", async () => {
    const { page } = olive;
    const earlier = await count(demo.folder);
    await say(page, "Delete the old logs");
    await watchCard(page);
    await button(page, "Approve").waitFor();
    await button(page, "Deny").waitFor();
    await look(page, "file-work");
    await button(page, "Deny").click();
    await card(page, /^DOS-\d+ · Denied/).waitFor();
    await button(page, "Retry").first().waitFor();
    await look(page, "denied");
    assert.ok(!(await page.evaluate(() => window.states)).some((words) => /· (Starting|Running)/.test(words)));
    assert.deepEqual(await count(demo.folder), earlier);
    await back(page);
  });

  test("a stranger is refused, and nobody else sees the refusal", async () => {
    const { page } = olive;
    const stranger = await phone();
    await stranger.page.goto(address);
    await enabled(stranger.page, "Off");
    await stranger.page.getByTestId("person-switch").click();
    await stranger.page.locator(".person-row", { hasText: "nobody’s friend" }).click();
    await enabled(stranger.page, "Off");
    const before = await page.locator("#messages .message").count();
    await button(stranger.page, "Off").click();
    await stranger.page.locator(".message.private").last().waitFor();
    const refusal = await stranger.page.locator(".message.private .content").last().innerText();
    assert.match(refusal, /\.$/);
    await look(stranger.page, "stranger");
    // What the stranger says afterwards reaches Olive, so the refusal would have reached her before it.
    await stranger.page.getByTestId("composer").fill("Let me in");
    await stranger.page.getByTestId("send").click();
    await page.getByText("Let me in", { exact: true }).waitFor();
    assert.equal(await page.locator("#messages .message").count(), before + 1, "Olive sees the words and nothing else");
    assert.equal(await page.getByText(refusal, { exact: true }).count(), 0);
    await enabled(page, "Off");
    assert.deepEqual(stranger.wrong, []);
    await stranger.context.close();
  });

  test("hostile words stay words", async () => {
    const { page } = olive;
    const words = `<img src=x onerror="window.pwned=1"> [tap](javascript:window.pwned=1) @everyone ${"wide".repeat(150)} \u202etxt.exe \`\`\`unclosed`;
    await page.getByTestId("composer").fill(words);
    await page.getByTestId("send").click();
    await page.locator("#messages .message", { hasText: "unclosed" }).last().locator(".thread-chip").waitFor();
    await look(page, "hostile");
    await page.locator("#messages .message", { hasText: "unclosed" }).last().locator(".thread-chip").click();
    await button(page, "Deny").waitFor();
    await look(page, "hostile-thread");
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await page.locator("#messages a[href^='javascript']").count(), 0);
    await button(page, "Deny").click();
    await card(page, /^DOS-\d+ · Denied/).waitFor();
    await back(page);
  });

  test("the page works at localhost as well, pictures and downloads too", async () => {
    const { page, context, wrong } = await phone({ colorScheme: "light" });
    await page.goto(address.replace("127.0.0.1", "localhost"));
    await enabled(page, "Off");
    await look(page, "host-light");
    await page.locator("#messages .message", { has: page.getByText(SENTENCE, { exact: true }) }).locator(".thread-chip").click();
    await card(page, RECEIPT).waitFor();
    const chart = page.locator("#messages .picture img").first();
    await chart.scrollIntoViewIfNeeded();
    await page.waitForFunction(() => document.querySelector("#messages .picture img")?.naturalWidth > 0);
    await look(page, "chart-light");
    assert.ok((await onDisk()).includes(sha256(await download(page))));
    assert.deepEqual(wrong, []);
    await context.close();
  });

  test("Ctrl-C ends it cleanly, and the page says so", async () => {
    assert.deepEqual(olive.wrong, [], "nothing in the console");
    assert.deepEqual(await demo.end("SIGINT"), { code: 0, signal: null });
    await olive.page.getByText("The simulator does not answer").waitFor();
    await olive.context.close();
  });
});

test("Cancel ends every process; a demo that was killed comes back with everything and goes on", async (t) => {
  const demo = await Demo.make();
  t.after(() => demo.remove());
  await generate(demo.folder);
  // A length of sleep that nobody else on the machine asks for.
  const sleep = `600.${process.pid}`;
  const alive = async () => {
    const all = await Promise.all((await readdir("/proc")).filter((pid) => /^\d+$/.test(pid)).map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
    return all.filter((line) => line.startsWith(`sleep\0${sleep}\0`)).length;
  };
  const gone = async () => {
    const end = Date.now() + PATIENCE;
    while ((await alive()) > 0 && Date.now() < end) await new Promise((done) => setTimeout(done, 50));
    assert.equal(await alive(), 0, "no process of the job is left");
  };
  const running = async (page, words) => {
    await say(page, words);
    await button(page, "Approve").click();
    await card(page, /^DOS-\d+ · Running/).getByText("I am at it", { exact: false }).waitFor();
  };
  const slow = { DISCORD_OS_COMMAND: `sh -c 'cat >/dev/null; echo I am at it.; sleep ${sleep}; echo never'` };
  const { page, context, wrong } = await phone();
  await page.goto(await demo.start(["--backend", "command"], slow));
  await pairAndTurnOn(page);

  await running(page, "Tidy up the first time");
  assert.equal(await alive(), 1);
  await button(page, "Cancel").click();
  await card(page, /^DOS-1 · Cancelled/).getByText("proved gone", { exact: false }).waitFor();
  assert.equal(await alive(), 0, "the card says so only when they are gone");
  await card(page, /^Receipt DOS-1 · Cancelled/).waitFor();
  await look(page, "cancelled");
  await back(page);

  await running(page, "Tidy up the second time");
  assert.equal(await alive(), 1);
  await demo.end("SIGKILL");
  await page.getByText("The simulator does not answer").waitFor();
  await look(page, "killed");
  await gone();
  await context.close();
  // The page of a simulator that is gone says in the console that it is.
  assert.deepEqual(wrong.filter((line) => !/ERR_|net::|Failed to load/.test(line)), []);

  const again = await phone();
  await again.page.goto(await demo.start());
  await button(again.page, "Paired").waitFor();
  await again.page.getByText("Tidy up the first time", { exact: true }).waitFor();
  await look(again.page, "restarted");
  // A tap while the gateway is still away fails, as on Discord itself.
  await again.page.getByText("discord-os is offline", { exact: false }).waitFor({ state: "hidden" });
  if (await button(again.page, "On").isEnabled()) await button(again.page, "On").click();
  await enabled(again.page, "Off");
  await again.page.locator("#messages .message", { has: again.page.getByText("Tidy up the second time", { exact: true }) }).locator(".thread-chip").click();
  await card(again.page, /^DOS-2 · Interrupted/).waitFor();
  await look(again.page, "interrupted");
  await button(again.page, "Retry").first().click();
  await button(again.page, "Approve").or(card(again.page, /^Receipt DOS-2 · Done/)).first().waitFor();
  if (await button(again.page, "Approve").isVisible()) await button(again.page, "Approve").click();
  await card(again.page, /^Receipt DOS-2 · Done/).waitFor();
  assert.deepEqual(figures((await download(again.page)).toString()), await count(demo.folder));
  assert.deepEqual(again.wrong, []);
  assert.deepEqual(await demo.end("SIGINT"), { code: 0, signal: null });
  await again.context.close();
});
