// The demo as a newcomer meets it: one command, one address, a phone-sized page, and a real subprocess at work.
// The program is DISCORD_OS_BIN, else the debug build.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { launch, openPage, PHONE } from "./chromium.mjs";

const BIN = process.env.DISCORD_OS_BIN ?? fileURLToPath(new URL("../../target/debug/discord-os", import.meta.url));
const OUT = fileURLToPath(new URL("./out/", import.meta.url));
// A loaded machine may need this long for one step; an idle one needs a second or two.
const PATIENCE = 60_000;
const SENTENCE = "Report on this folder";

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

let root;
let folder;
let workspace;
let environment;
let demo;
let browser;

before(async () => {
  assert.ok(existsSync(BIN), `${BIN} is not there: build the program, or name it in DISCORD_OS_BIN.`);
  root = await mkdtemp(join(tmpdir(), "discord-os-demo-"));
  folder = join(root, "workshop");
  workspace = join(root, "workspace");
  // Nothing of the person who runs the tests: no settings, no tokens, no home.
  environment = { PATH: process.env.PATH, HOME: join(root, "home"), AGENT_DISCORD_WORKSPACE: workspace };
  await Promise.all([mkdir(environment.HOME), mkdir(OUT, { recursive: true }), generate(folder)]);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  if (demo && demo.exitCode === null && demo.signalCode === null) demo.kill("SIGKILL");
  if (root) await rm(root, { recursive: true, force: true });
});

/** Files of several kinds in nested folders: text with and without a last newline, empty, binary, odd names. */
async function generate(base) {
  for (let n = 0; n < 48; n += 1) {
    const place = join(base, `part ${n % 12}`, n % 3 ? "deep/er" : "");
    await mkdir(place, { recursive: true });
    const kind = ["rs", "md", "txt", "bin"][n % 4];
    const lines = Array.from({ length: (n * 7) % 31 }, (_, line) => `line ${line} of file ${n}, with ünïcode\n`).join("");
    const body = kind === "bin" ? Buffer.concat([Buffer.alloc(10), Buffer.from(lines)]) : Buffer.from(lines + (n % 5 ? "" : "no newline at the end"));
    await writeFile(join(place, `file ${n} 'quoted' 文.${kind}`), body);
  }
}

/** Files and lines, counted with none of the product's code. */
async function count(base) {
  const sum = { files: 0, lines: 0 };
  for (const entry of await readdir(base, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const bytes = await readFile(join(entry.parentPath ?? entry.path, entry.name));
    sum.files += 1;
    if (!bytes.subarray(0, 8192).includes(0)) sum.lines += bytes.toString().split("\n").length - (bytes.length === 0 || bytes.at(-1) === 10 ? 1 : 0);
  }
  return sum;
}

/** Starts the demo and gives the address that it prints. */
function start() {
  demo = spawn(BIN, ["demo", "--no-open"], { cwd: folder, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  let talk = "";
  demo.stderr.on("data", (piece) => (talk += piece));
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`No address within ${PATIENCE} ms.\n${talk}`)), PATIENCE);
    createInterface({ input: demo.stdout }).on("line", (line) => {
      const address = /http:\/\/(?:127\.0\.0\.1|localhost):\d+\/\S*/.exec(line)?.[0];
      if (!address) return;
      clearTimeout(timer);
      resolve(address);
    });
    demo.on("exit", (code) => reject(new Error(`The demo ended with ${code} before it printed an address.\n${talk}`)));
  });
}

const run = async (...args) => JSON.parse((await promisify(execFile)(BIN, args, { cwd: folder, env: environment, timeout: PATIENCE })).stdout);

const figures = (report) => ({ files: Number(/^Files: (\d+)$/m.exec(report)?.[1]), lines: Number(/^Lines: (\d+)$/m.exec(report)?.[1]) });

/** Keeps every state of the job card that the page shows, in the order of showing. */
const watchCard = (page) => page.evaluate(() => {
  window.states = [];
  const note = () => {
    for (const card of document.querySelectorAll("#messages .message .container")) {
      const words = card.innerText;
      if (/^DOS-\d+ · /.test(words) && window.states.at(-1) !== words) window.states.push(words);
    }
  };
  new MutationObserver(note).observe(document.getElementById("messages"), { childList: true, subtree: true, characterData: true });
  note();
});

/** Says `words` in the channel on screen, follows the job into its thread to the receipt, and gives the report's bytes. */
async function job(page, words, screenshots) {
  await page.getByTestId("composer").fill(words);
  await page.getByTestId("send").click();
  const asked = page.locator("#messages .message", { has: page.getByText(words, { exact: true }) }).last();
  await asked.locator(".thread-chip").click();
  await page.locator("#messages .container", { hasText: /DOS-\d+ · / }).first().waitFor();
  await watchCard(page);
  const approve = page.getByRole("button", { name: "Approve", exact: true });
  const receipt = page.locator("#messages .container", { hasText: /^Receipt DOS-\d+/ });
  await approve.or(receipt).first().waitFor();
  if (await approve.isVisible()) {
    if (screenshots) await page.screenshot({ path: `${OUT}demo-approve.png` });
    await approve.click();
  }
  if (screenshots) {
    await page.locator("#messages .container", { hasText: /DOS-\d+ · Running/ }).or(receipt).first().waitFor();
    await page.screenshot({ path: `${OUT}demo-running.png` });
  }
  await receipt.waitFor();
  assert.match(await receipt.innerText(), /Receipt DOS-\d+ · Done/);
  const button = page.locator("[data-testid=download][data-filename='report.md']").last();
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  assert.equal(download.suggestedFilename(), "report.md");
  return readFile(await download.path());
}

async function onDisk() {
  const hashes = [];
  for (const entry of await readdir(join(workspace, "sim", "artifacts"), { withFileTypes: true, recursive: true })) {
    if (entry.name === "report.md") hashes.push(sha256(await readFile(join(entry.parentPath ?? entry.path, entry.name))));
  }
  return hashes;
}

test("Pair, On, a sentence, a streaming card, a receipt, and the same bytes in every place", { timeout: 10 * PATIENCE }, async () => {
  const address = await start();
  const { page, context, wrong } = await openPage(browser, { ...PHONE, colorScheme: "dark", timeout: PATIENCE });
  await page.goto(address);
  const button = (name) => page.locator("#messages").getByRole("button", { name, exact: true });
  const enabled = (name) => page.locator("#messages button:enabled", { hasText: new RegExp(`^${name}$`) }).first().waitFor();

  await button("Pair").click();
  await button("Paired").waitFor();
  await button("On").click();
  await enabled("Off");
  await page.screenshot({ path: `${OUT}demo-host.png` });
  const staff = /^#\/(\d+)/.exec(await page.evaluate(() => location.hash))[1];

  const first = await job(page, SENTENCE, true);
  const states = await page.evaluate(() => window.states);
  assert.ok(new Set(states).size >= 3, `the card changed while it was looked at: ${JSON.stringify(states)}`);
  const running = states.filter((words) => !/Waiting/.test(words));
  assert.ok(running.at(-1).length > running[0].length, `its text grew: ${JSON.stringify(running)}`);
  await page.screenshot({ path: `${OUT}demo-receipt.png` });
  assert.deepEqual(figures(first.toString()), await count(folder), "the report's figures equal an independent count");

  const known = await run("ls", "--channel-id", staff, "--fake", "--json");
  const pointer = known.find((object) => object.filename === "report.md");
  assert.equal(pointer.sha256, sha256(first));
  assert.ok(known.every((object) => !("url" in object)));
  assert.ok((await onDisk()).includes(sha256(first)), "the file on the disk");
  const out = join(root, "fetched.md");
  await run("get", pointer.artifact_id, "--channel-id", staff, "--fake", "--json", "--out", out);
  assert.equal(sha256(await readFile(out)), sha256(first), "the same bytes from the shell");

  // A removed file changes the figures.
  const earlier = await count(folder);
  await rm(join(folder, "part 1", "deep", "er", "file 1 'quoted' 文.md"));
  await page.getByTestId("back").click();
  await button("Paired").waitFor();
  const second = await job(page, `${SENTENCE} once more`, false);
  const now = await count(folder);
  assert.notDeepEqual(now, earlier);
  assert.deepEqual(figures(second.toString()), now);

  // A stranger is told so privately, and nothing changes.
  await page.getByTestId("back").click();
  await button("Paired").waitFor();
  await page.getByTestId("person-switch").click();
  await page.locator(".person-row", { hasText: "nobody’s friend" }).click();
  await enabled("Off");
  await button("Off").click();
  await page.locator(".message.private").last().waitFor();
  await enabled("Off");
  assert.deepEqual(wrong, [], "nothing in the console");

  const ended = new Promise((done) => demo.once("exit", (code, signal) => done({ code, signal })));
  demo.kill("SIGINT");
  assert.deepEqual(await ended, { code: 0, signal: null }, "Ctrl-C ends it cleanly");
  await page.getByText("The simulator does not answer").waitFor();
  await context.close();
});
