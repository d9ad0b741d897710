// `discord-os demo` as a child process, and what one does on its page. The program is DISCORD_OS_BIN, else the debug build.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const BIN = process.env.DISCORD_OS_BIN ?? fileURLToPath(new URL("../../target/debug/discord-os", import.meta.url));
// A loaded machine may need this long for one step; an idle one needs a second or two.
export const PATIENCE = 60_000;

/** A demo with a folder to work on and a workspace of its own, both gone after `remove`. */
export class Demo {
  static async make() {
    assert.ok(existsSync(BIN), `${BIN} is not there: build the program, or name it in DISCORD_OS_BIN.`);
    const demo = new Demo();
    demo.root = await mkdtemp(join(tmpdir(), "discord-os-demo-"));
    demo.folder = join(demo.root, "workshop");
    demo.workspace = join(demo.root, "workspace");
    // Nothing of the person who runs the tests: no settings, no tokens, no home.
    demo.environment = { PATH: process.env.PATH, HOME: join(demo.root, "home"), AGENT_DISCORD_WORKSPACE: demo.workspace };
    await Promise.all([mkdir(demo.environment.HOME), mkdir(demo.folder)]);
    return demo;
  }

  /** Starts it and gives the address that it prints. */
  start(args = [], environment = {}) {
    const child = spawn(BIN, ["demo", "--no-open", ...args], { cwd: this.folder, env: { ...this.environment, ...environment }, stdio: ["ignore", "pipe", "pipe"] });
    this.child = child;
    this.ended = new Promise((done) => child.once("exit", (code, signal) => done({ code, signal })));
    let talk = "";
    child.stderr.on("data", (piece) => (talk += piece));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`No address within ${PATIENCE} ms.\n${talk}`)), PATIENCE);
      createInterface({ input: child.stdout }).on("line", (line) => {
        const address = /http:\/\/(?:127\.0\.0\.1|localhost):\d+\/\S*/.exec(line)?.[0];
        if (!address) return;
        clearTimeout(timer);
        resolve(address);
      });
      child.once("exit", (code) => (clearTimeout(timer), reject(new Error(`The demo ended with ${code} before it printed an address.\n${talk}`))));
    });
  }

  /** Sends a signal, and gives how the demo ended. */
  end(signal) {
    this.child.kill(signal);
    return this.ended;
  }

  /** Runs a command of the same workspace from the shell, and gives what it printed as JSON. */
  async run(...args) {
    return JSON.parse((await promisify(execFile)(BIN, args, { cwd: this.folder, env: this.environment, timeout: PATIENCE })).stdout);
  }

  async remove() {
    if (this.child && this.child.exitCode === null && this.child.signalCode === null) await this.end("SIGKILL");
    await rm(this.root, { recursive: true, force: true });
  }
}

/** Files of several kinds in nested folders: text with and without a last newline, empty, binary, odd names. */
export async function generate(base) {
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
export async function count(base) {
  const sum = { files: 0, lines: 0 };
  for (const entry of await readdir(base, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const bytes = await readFile(join(entry.parentPath ?? entry.path, entry.name));
    sum.files += 1;
    if (!bytes.subarray(0, 8192).includes(0)) sum.lines += bytes.toString().split("\n").length - (bytes.length === 0 || bytes.at(-1) === 10 ? 1 : 0);
  }
  return sum;
}

/** A button of the messages on screen. */
export const button = (page, name) => page.locator("#messages").getByRole("button", { name, exact: true });

/** Waits until a button of that name can be pressed. */
export const enabled = (page, name) => page.locator("#messages button:enabled", { hasText: new RegExp(`^${name}$`) }).first().waitFor();

/** Pairs, and turns the machine on. */
export async function pairAndTurnOn(page) {
  await button(page, "Pair").click();
  await button(page, "Paired").waitFor();
  await button(page, "On").click();
  await enabled(page, "Off");
}

/** Says `words` in the channel on screen and opens the thread of the job that comes of it. */
export async function say(page, words) {
  await page.getByTestId("composer").fill(words);
  await page.getByTestId("send").click();
  await page.locator("#messages .message", { has: page.getByText(words, { exact: true }) }).last().locator(".thread-chip").click();
  await page.locator("#messages .container", { hasText: /DOS-\d+ · / }).first().waitFor();
}

/** The card or receipt on screen whose heading reads so. */
export const card = (page, heading) => page.locator("#messages .container", { hasText: heading }).last();

/** Back to the channel from a thread. */
export async function back(page) {
  await page.getByTestId("back").click();
  await button(page, "Paired").waitFor();
}

/** Keeps every state of the job card that the page shows, in the order of showing. */
export const watchCard = (page) => page.evaluate(() => {
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
