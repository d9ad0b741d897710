// One headless Chromium of the system, with an empty profile of its own.

import { chromium } from "playwright-core";

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Starts the browser; Playwright gives it a fresh temporary profile folder and removes it afterwards. */
export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: FLAGS });
}

export const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };
export const DESKTOP = { viewport: { width: 1280, height: 820 } };

/** A page that keeps what went wrong in it. */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ reducedMotion: "reduce", acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(options.timeout ?? 15_000);
  const wrong = [];
  page.on("console", (line) => ["error", "warning"].includes(line.type()) && wrong.push(`${line.type()}: ${line.text()} (${line.location().url})`));
  page.on("pageerror", (error) => wrong.push(`exception: ${error.stack}`));
  return { page, context, wrong };
}
