// Screenshots of the page with canned data, to be looked at: `node shots.mjs [folder]`.

import { mkdir } from "node:fs/promises";
import { launch, openPage, DESKTOP, PHONE } from "./chromium.mjs";
import { Mock } from "./mock.mjs";

const folder = process.argv[2] ?? new URL("./out", import.meta.url).pathname;
await mkdir(folder, { recursive: true });
const browser = await launch();
try {
  for (const scheme of ["dark", "light"]) {
    for (const [size, options] of [["phone", PHONE], ["desktop", DESKTOP]]) await shoot(scheme, size, options);
  }
} finally {
  await browser.close();
}

async function shoot(scheme, size, options) {
  const mock = await Mock.start();
  const { page, context, wrong } = await openPage(browser, { ...options, colorScheme: scheme });
  const shot = async (name) => page.screenshot({ path: `${folder}/${size}-${scheme}-${name}.png` });
  const goto = async (hash) => {
    await page.evaluate((to) => (location.hash = to), hash);
    await page.waitForTimeout(250);
  };
  await page.goto(mock.url);
  await page.waitForSelector("[data-message-id]");
  await page.waitForTimeout(300);
  await shot("host");
  await page.evaluate(() => (document.getElementById("scroller").scrollTop = 0));
  await page.waitForTimeout(200);
  await shot("host-top");
  await page.getByTestId("guide-dismiss").click();
  await page.getByRole("button", { name: "Paired" }).click();
  await page.waitForTimeout(300);
  await shot("host-bottom");
  await page.getByRole("button", { name: "Recent jobs" }).click();
  await page.waitForTimeout(300);
  await shot("select");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.waitForSelector("[data-testid=modal-submit]");
  await page.waitForTimeout(300);
  await shot("modal");
  await page.keyboard.press("Escape");
  if (size === "phone") {
    await page.getByTestId("menu").click();
    await page.waitForTimeout(300);
    await shot("drawer");
    await page.keyboard.press("Escape");
  }
  await page.getByTestId("person-switch").click();
  await page.waitForTimeout(300);
  await shot("people");
  await page.keyboard.press("Escape");
  await goto("#/203");
  await shot("thread");
  await goto("#/202");
  await shot("gallery-end");
  for (let n = 1; n < 5; n += 1) {
    await page.evaluate(() => (document.getElementById("scroller").scrollTop -= 620));
    await page.waitForTimeout(150);
    await shot(`gallery-${n}`);
  }
  await mock.close();
  const fresh = await Mock.start({ empty: true });
  await page.goto(fresh.url);
  await page.waitForSelector("[data-message-id]");
  await page.waitForTimeout(400);
  await shot("fresh");
  await fresh.close();
  if (wrong.length) console.log(size, scheme, wrong);
  await context.close();
}
