// Makes docs/demo.png, the README's picture, from the real demo: `node picture.mjs [file]`.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, openPage, PHONE } from "./chromium.mjs";
import { back, button, card, Demo, pairAndTurnOn, PATIENCE, say } from "./demo.mjs";

const FILE = process.argv[2] ?? fileURLToPath(new URL("../../docs/demo.png", import.meta.url));
const SIZE = { width: 390, height: 844 };

/** A small project to report on. */
async function project(folder) {
  const files = { "src/main.rs": 84, "src/server.rs": 212, "src/store.rs": 157, "web/app.js": 141, "web/style.css": 96, "README.md": 58, "docs/setup.md": 73, "Cargo.toml": 21 };
  for (const [name, lines] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), "one line of it\n".repeat(lines));
  }
}

const demo = await Demo.make();
const browser = await launch();
try {
  await project(demo.folder);
  const { page } = await openPage(browser, { ...PHONE, deviceScaleFactor: 1.25, colorScheme: "dark", timeout: PATIENCE });
  const shots = [];
  const shoot = async () => {
    await page.mouse.move(0, 0);
    await page.evaluate(() => document.activeElement?.blur());
    shots.push((await page.screenshot()).toString("base64"));
  };
  /** Brings the message of something on screen under the bar. */
  const top = (what) => what.evaluate((node) => {
    const scroller = document.getElementById("scroller");
    scroller.scrollTop += node.closest(".message").getBoundingClientRect().top - scroller.getBoundingClientRect().top - 4;
  });

  await page.goto(await demo.start());
  await pairAndTurnOn(page);
  await page.getByTestId("guide-dismiss").click();
  await page.getByRole("button", { name: "Dismiss message" }).click();
  await say(page, "Report on this folder");
  const receipt = card(page, /^Receipt DOS-1 · Done/);
  await button(page, "Approve").or(receipt).first().waitFor();
  if (await button(page, "Approve").isVisible()) await button(page, "Approve").click();
  await receipt.waitFor();
  await page.waitForFunction(() => document.querySelector("#messages .picture img")?.naturalWidth > 0);
  await back(page);
  await page.locator("#messages .thread-chip", { hasText: "DOS-1" }).waitFor();
  await top(card(page, /^HOST · /));
  await shoot();
  await page.locator("#messages .thread-chip", { hasText: "DOS-1" }).click();
  await receipt.waitFor();
  await page.waitForFunction(() => document.querySelector("#messages .picture img")?.naturalWidth > 0);
  await top(card(page, /^DOS-1 · Done/));
  await shoot();
  await top(page.locator("#messages .file", { hasText: "chart.svg" }).first());
  await shoot();

  const wall = await browser.newPage({ viewport: { width: 3 * SIZE.width + 4 * 24, height: SIZE.height + 48 }, deviceScaleFactor: 1 });
  const pictures = shots.map((shot) => `<img alt="" width="${SIZE.width}" height="${SIZE.height}" src="data:image/png;base64,${shot}">`);
  await wall.setContent(`<style>body{margin:0;display:flex;gap:24px;padding:24px;background:#1e1f22}img{border-radius:18px}</style>${pictures.join("")}`);
  await writeFile(FILE, await wall.screenshot());
  console.log(`${FILE}: ${Math.round((await readFile(FILE)).length / 1000)} kB`);
  await demo.end("SIGINT");
} finally {
  await browser.close();
  await demo.remove();
}
