// The page against a mock of the control API, in a real Chromium.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { HOSTILE, jobCard } from "./canned.mjs";
import { DESKTOP, launch, openPage, PHONE } from "./chromium.mjs";
import { Mock } from "./mock.mjs";

const OUT = new URL("./out/", import.meta.url).pathname;
const MIN_TARGET = 44;

let browser;
let mock;
let page;
let context;
let wrong;

before(async () => {
  await mkdir(OUT, { recursive: true });
  browser = await launch();
});
after(() => browser?.close());
beforeEach(() => fresh());
afterEach(async () => {
  await context.close();
  await mock.close();
  assert.deepEqual(wrong, [], "nothing in the console");
});

async function fresh(options = PHONE, world = {}) {
  await context?.close();
  await mock?.close();
  mock = await Mock.start(world);
  ({ page, context, wrong } = await openPage(browser, options));
  await page.goto(mock.url);
  await page.waitForSelector("[data-message-id]");
}

const message = (id) => page.locator(`[data-message-id="${id}"]`);
// In the list of messages only: the live region says the same words again.
const said = (words) => page.locator("#messages").getByText(words);
const named = (content) => mock.world.messages.find((one) => one.content === content);
const goTo = async (channel) => {
  await page.evaluate((to) => (location.hash = `#/${to}`), channel);
  const last = mock.world.messages.filter((one) => one.channel_id === channel && !one.ephemeral).at(-1);
  await message(last.id).waitFor();
};
const lastCall = (path) => mock.calls.filter((call) => call.path === path).at(-1)?.body;
const until = async (check, what) => {
  const end = Date.now() + 10_000;
  while (!(await check())) {
    assert.ok(Date.now() < end, `waited for: ${what}`);
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
};

describe("what is shown", () => {
  test("the token is not left in the address", () => {
    assert.ok(!page.url().includes(mock.token));
  });

  test("messages with authors, tags, groups, replies, edits, reactions and threads", async () => {
    const host = message(mock.world.hostMessage.id);
    await host.getByText("Turned on by Olive").waitFor();
    assert.equal(await host.locator(".tag").innerText(), "BOT");
    const reply = mock.world.messages.find((one) => one.reply_to);
    assert.match(await message(reply.id).innerText(), /Olive\s+Report on this folder[\s\S]*\(edited\)/);
    const grouped = mock.world.messages.find((one) => one.content.startsWith("I see it is"));
    assert.ok(await message(grouped.id).evaluate((node) => node.classList.contains("compact") && !node.querySelector(".avatar")));
    assert.equal(await message(grouped.id).locator(".reaction").count(), 2);
    const asked = named("Report on this folder");
    assert.match(await message(asked.id).locator(".thread-chip").innerText(), /DOS-1 Report on this folder\s+3 messages/);
  });

  test("private replies are for one person only, and can be dismissed", async () => {
    await said("Only Olive reads this.").waitFor();
    assert.equal(await said("You may not do that.").count(), 0);
    await page.getByRole("button", { name: "Dismiss message" }).click();
    await said("Only Olive reads this.").waitFor({ state: "detached" });
  });

  test("markdown becomes elements", async () => {
    await goTo("202");
    const body = message(mock.world.messages.find((one) => one.channel_id === "202").id).locator(".content");
    for (const [selector, words] of [["strong", "bold"], ["em", "italic"], ["u", "under"], ["s", "struck"], ["blockquote", "a second line"], ["pre code", "fn main()"],
      [".h1", "Heading one"], [".small-print", "small print"], ["ul ul li", "nested"], ["ol li", "one"], [".mention.own", "@Olive"], ["a.mention", "host"], ["time", "2023"]]) {
      assert.match(await body.locator(selector).first().innerText(), new RegExp(words.replace(/[()]/g, "\\$&")), selector);
    }
    assert.match(await body.locator("time[data-relative]").innerText(), /years? ago/);
    const spoiler = body.locator(".spoiler");
    assert.equal(await spoiler.getAttribute("aria-label"), "Spoiler. Show it.");
    await spoiler.focus();
    await page.keyboard.press("Enter");
    assert.ok(await spoiler.evaluate((node) => node.classList.contains("shown")));
  });

  test("a hostile message is only text", async () => {
    await goTo("202");
    const body = message(named(HOSTILE).id).locator(".content");
    assert.match(await body.innerText(), /<img src=x onerror="window\.hacked=1"><script>/);
    assert.equal(await body.locator("img, script, b").count(), 0);
    const links = await body.locator("a").evaluateAll((nodes) => nodes.map((node) => node.getAttribute("href")));
    assert.ok(links.every((href) => href.startsWith("https://")), String(links));
    assert.ok(await page.locator("a[href^='javascript:'], [onmouseover], [onerror]").count() === 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  });

  test("every kind of component, and a note for unknown ones", async () => {
    await goTo("202");
    const id = mock.world.messages.find((one) => one.flags === 32768 && one.channel_id === "202").id;
    const card = message(id);
    for (const [selector, count] of [[".container", 2], [".section", 2], [".accessory .button", 1], [".thumbnail img", 1], [".separator", 1], [".gallery img", 2], [".file", 1],
      [".row .button", 5], [".select", 2], [".unknown", 1], [".covered .cover", 1]]) {
      assert.equal(await card.locator(selector).count(), count, selector);
    }
    assert.match(await card.locator(".unknown").innerText(), /kind 99/);
    assert.equal(await card.locator(".container").first().evaluate((node) => node.style.getPropertyValue("--accent")), "#5865f2");
    await card.getByText("# Report on project").waitFor();
    const loaded = () => card.locator("img").evaluateAll((nodes) => nodes.every((node) => node.complete && node.naturalWidth > 0));
    await card.locator(".gallery").scrollIntoViewIfNeeded();
    await until(loaded, "pictures from the CDN");
    await card.locator(".cover").click();
    await card.getByText("Hidden container").click();
  });

  test("old rows, bad links, thinking, plain attachments", async () => {
    await goTo("202");
    const old = message(named("Old style rows").id);
    assert.equal(await old.getByRole("button", { name: "Old" }).count(), 1);
    assert.equal(await old.getByText("Bad link").evaluate((node) => node.closest("a")), null);
    await said("discord-os is thinking…").waitFor();
    const files = message(named("Files:").id);
    assert.deepEqual(await files.locator(".file-name").allTextContents(), ["chart.svg", "报告 of the folder.md", "it's \"quoted\" & <b>.bin", "SPOILER_dot.png"]);
    assert.match(await files.innerText(), /68\.4 KB/);
    assert.equal(await files.locator(".cover").count(), 1);
  });

  test("an edit shows in place and keeps the focus", async () => {
    await goTo("203");
    const cancel = message(mock.world.jobCard.id).getByRole("button", { name: "Cancel" });
    await cancel.focus();
    for (const tail of ["Reading 20 of 42 files …", "Reading 42 of 42 files …"]) {
      mock.update(mock.world.jobCard.id, { components: jobCard(tail), edited_ms: Date.now() });
      await message(mock.world.jobCard.id).getByText(tail).waitFor();
    }
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Cancel");
  });

  test("an edit between press and release does not lose the tap", async () => {
    await goTo("203");
    const cancel = message(mock.world.jobCard.id).getByRole("button", { name: "Cancel" });
    await cancel.scrollIntoViewIfNeeded();
    const box = await cancel.boundingBox();
    await page.mouse.move(box.x + 20, box.y + 20);
    await page.mouse.down();
    mock.update(mock.world.jobCard.id, { components: jobCard("read 41 files") });
    mock.add(mock.message("102", "205", { content: "elsewhere" }));
    await until(() => page.evaluate(() => document.querySelector("[data-channel-id='205'].unread")), "the event");
    await page.mouse.up();
    await said("Taken: cancel.").waitFor();
    await message(mock.world.jobCard.id).getByText("read 41 files").waitFor();
  });

  test("typing, deletion and the bot's absence", async () => {
    mock.push({ type: "typing", channel_id: "201", user_id: "100", name: "discord-os" });
    await page.getByText("discord-os is typing…").waitFor();
    const id = named("Morning! Is the host up?").id;
    mock.world.messages = mock.world.messages.filter((one) => one.id !== id);
    mock.push({ type: "message_delete", channel_id: "201", message_ids: [id] });
    await message(id).waitFor({ state: "detached" });
    mock.push({ type: "bot", online: false });
    await page.getByText("discord-os is offline.").waitFor();
    mock.push({ type: "bot", online: true });
    await page.locator("#banner").waitFor({ state: "hidden" });
  });

  test("after a break of the events everything is looked at again", async () => {
    for (const stream of mock.streams) stream.answer.destroy();
    mock.world.messages.push(mock.message("102", "201", { content: "said in the gap" }));
    await said("said in the gap").waitFor();
    mock.world.messages.push(mock.message("102", "201", { content: "said before the reset" }));
    mock.push({ type: "reset" });
    await said("said before the reset").waitFor();
    wrong = wrong.filter((line) => !/ERR_|EventSource/.test(line)); // the cut itself is reported by the browser
  });
});

describe("what can be done", () => {
  test("a sentence by Enter, a line by Shift+Enter", async () => {
    const box = page.getByTestId("composer");
    assert.ok(await page.getByTestId("send").isDisabled());
    await box.fill("one");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("two");
    await page.keyboard.press("Enter");
    await said("two").waitFor();
    assert.deepEqual(lastCall("/control/say"), { as: "101", channel: "201", content: "one\ntwo" });
    assert.equal(await box.inputValue(), "");
  });

  test("reply, edit, react and delete from the actions of a message", async () => {
    const other = named("<@101> nice, thank you");
    const open = async (id) => {
      await message(id).locator(".more").focus();
      await page.keyboard.press("Enter");
    };
    await open(other.id);
    assert.equal(await page.getByRole("button", { name: "Delete message" }).count(), 0);
    await page.getByRole("button", { name: "Reply", exact: true }).click();
    await page.getByText("Replying to").waitFor();
    await page.getByTestId("composer").fill("with pleasure");
    await page.getByTestId("send").click();
    await page.locator(".content", { hasText: "with pleasure" }).waitFor();
    assert.equal(lastCall("/control/say").reply_to, other.id);

    const own = named("with pleasure");
    await open(own.id);
    await page.getByRole("button", { name: "Edit message" }).click();
    assert.equal(await page.getByTestId("composer").inputValue(), "with pleasure");
    await page.getByTestId("composer").fill("with great pleasure");
    await page.keyboard.press("Enter");
    await page.locator(".content", { hasText: "with great pleasure" }).waitFor();
    assert.match(await message(own.id).innerText(), /\(edited\)/);

    await open(own.id);
    await page.getByRole("button", { name: "React with ✅" }).click();
    await message(own.id).getByRole("button", { name: "✅, 1 reaction" }).waitFor();

    await open(own.id);
    await page.getByRole("button", { name: "Delete message" }).click();
    await message(own.id).waitFor({ state: "detached" });
  });

  test("a touch on a message offers its actions", async () => {
    const id = named("<@101> nice, thank you").id;
    await message(id).locator(".content").tap();
    await message(id).locator(".more").tap();
    await page.getByRole("dialog").getByText("Copy text").waitFor();
  });

  test("a press waits, is answered privately, or fails where it was made", async () => {
    await page.getByRole("button", { name: "Paired" }).click();
    await said("You are paired now").waitFor();
    assert.equal(lastCall("/control/tap").message, mock.world.hostMessage.id);
    await goTo("202");
    await page.getByRole("button", { name: "Slow" }).click();
    await page.locator(".button.pending").waitFor();
    await said("Taken: slow.").waitFor();
    await page.getByRole("button", { name: "Fails" }).click();
    await said("This interaction failed").waitFor();
  });

  test("an outcome whose event was lost is asked for", async () => {
    await goTo("202");
    const lost = page.getByRole("button", { name: "Lost" });
    await lost.click();
    assert.equal(await lost.getAttribute("aria-busy"), "true");
    await until(async () => (await lost.getAttribute("aria-busy")) === null, "the poll");
    assert.equal(await said("This interaction failed").count(), 0);
  });

  test("a select is a menu", async () => {
    const select = page.getByRole("button", { name: "Recent jobs" });
    assert.equal(await select.getAttribute("aria-haspopup"), "listbox");
    await select.click();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await said("Taken: dos-1.").waitFor();
    assert.deepEqual(lastCall("/control/tap").values, ["dos-1"]);
    assert.equal(await page.getByRole("dialog").count(), 0);
  });

  test("a select of several people ends with Done", async () => {
    await goTo("202");
    await page.getByRole("button", { name: "Choose people" }).click();
    await page.getByRole("option", { name: /Olive/ }).click();
    await page.getByRole("option", { name: /Stranger/ }).click();
    await page.getByRole("option", { name: /Tess/ }).click();
    await page.getByRole("button", { name: "Done" }).click();
    await said("Taken: 101, 103.").waitFor();
  });

  test("a Label form: required, bounds, focus kept inside, Escape, submit, failure", async () => {
    const ask = page.getByRole("button", { name: "Ask", exact: true });
    await ask.click();
    const order = page.getByLabel("Order");
    await order.waitFor();
    assert.ok(await order.evaluate((node) => node === document.activeElement));
    assert.equal(await order.getAttribute("maxlength"), "200");
    assert.equal(await order.getAttribute("placeholder"), "Report on this folder");
    await page.getByTestId("modal-submit").click();
    await page.getByText("This field is required.").waitFor();
    await order.fill("ab");
    await page.getByTestId("modal-submit").click();
    await page.getByText("At least 3 characters").waitFor();
    for (let n = 0; n < 12; n += 1) {
      await page.keyboard.press("Tab");
      assert.ok(await page.evaluate(() => Boolean(document.activeElement.closest("dialog"))), "Tab stays in the form");
    }
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("dialog").count(), 0);
    assert.ok(await ask.evaluate((node) => node === document.activeElement), "focus goes back");

    await ask.click();
    await order.fill("fail");
    await page.getByTestId("modal-submit").click();
    await page.getByText(/This interaction failed\. Your words/).waitFor();
    assert.equal(await order.inputValue(), "fail");
    await order.fill("Report on this folder");
    await page.getByLabel("Mode").selectOption("read");
    await page.getByTestId("modal-submit").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.deepEqual(lastCall("/control/submit").fields, { order: "Report on this folder", note: "", mode: "read" });
  });

  test("an ActionRow form", async () => {
    await goTo("202");
    await page.getByRole("button", { name: "Rows" }).click();
    const title = page.getByLabel("Title");
    assert.equal(await title.inputValue(), "preset");
    await title.fill("new");
    await page.getByLabel("Words").fill("line\nline");
    await page.getByTestId("modal-submit").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.deepEqual(lastCall("/control/submit").fields, { title: "new", words: "line\nline" });
  });

  test("a file is attached, shown, and downloaded with the same bytes under its name", async () => {
    const bytes = Buffer.from("héllo\nwörld\n".repeat(50));
    await page.getByTestId("file-input").setInputFiles({ name: "note.txt", mimeType: "text/plain", buffer: bytes });
    await page.getByTestId("composer").fill("here it is");
    await page.getByTestId("send").click();
    await page.locator(".file-name", { hasText: "note.txt" }).waitFor();
    await said("here it is").waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator("[data-testid=download][data-filename='note.txt']").click()]);
    assert.equal(download.suggestedFilename(), "note.txt");
    const hash = (data) => createHash("sha256").update(data).digest("hex");
    assert.equal(hash(await readFile(await download.path())), hash(bytes));
  });

  test("a file can be viewed whole, a picture enlarged", async () => {
    await goTo("203");
    await page.getByRole("button", { name: /^View / }).click();
    await page.getByRole("dialog").getByText("lang29").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Open v1/ }).click();
    await page.locator("dialog .large-picture").waitFor();
  });

  test("jump links, thread chips, back and the drawer move within the page", async () => {
    await page.locator(".thread-chip").click();
    await message(mock.world.jobCard.id).waitFor();
    assert.equal(await page.locator("h1").innerText(), "DOS-1 Report on this folder");
    await page.getByTestId("back").click();
    await message(mock.world.hostMessage.id).waitFor();
    await page.locator("a.mention", { hasText: "DOS-1" }).click();
    await message(mock.world.jobCard.id).waitFor();
    await page.goBack();
    await message(mock.world.hostMessage.id).waitFor();
    assert.equal(await page.getByTestId("drawer").evaluate((node) => node.inert), true);
    await page.getByTestId("menu").click();
    await page.getByRole("link", { name: "gallery" }).click();
    await said("Old style rows").waitFor();
    assert.equal(context.pages().length, 1);
  });

  test("a jump to an old message looks back for it and flashes it", async () => {
    const first = mock.world.firstLine.id;
    mock.add(mock.message("102", "201", { content: `look https://discord.com/channels/1/205/${first}` }));
    await page.locator("a.mention", { hasText: "history › message" }).click();
    await message(first).waitFor();
    assert.ok(await message(first).evaluate((node) => node.classList.contains("flash")));
    assert.equal(await page.locator("#messages [data-message-id]").count(), 260);
  });

  test("another person sees and speaks with other eyes", async () => {
    await page.getByTestId("person-switch").click();
    await page.locator("[data-person-id='103']").click();
    await said("You may not do that.").waitFor();
    assert.equal(await said("Only Olive reads this.").count(), 0);
    await page.getByTestId("composer").fill("let me in");
    await page.keyboard.press("Enter");
    await said("let me in").waitFor();
    assert.equal(lastCall("/control/say").as, "103");
    await page.reload();
    await said("You may not do that.").waitFor();
  });

  test("the steps tick themselves off, and the guide can be dismissed", async () => {
    await fresh(PHONE, { empty: true });
    const step = (key) => page.locator(`[data-step='${key}'][data-done='true']`);
    assert.equal(await page.locator("[data-step]").count(), 5);
    assert.equal(await page.locator("[data-done='true']").count(), 0);
    await page.getByRole("button", { name: "Pair", exact: true }).click();
    await page.getByText("1 of 5").waitFor();
    await page.getByRole("button", { name: "On", exact: true }).click();
    await page.getByText("2 of 5").waitFor();
    await page.locator(".guide-title").click();
    await step("on").waitFor();
    await page.getByRole("button", { name: "Write it for me" }).click();
    assert.equal(await page.getByTestId("composer").inputValue(), "Report on this folder");
    await page.getByTestId("guide-dismiss").click();
    assert.ok(await page.locator("#guide").isHidden());
    await page.reload();
    await page.waitForSelector("[data-message-id]");
    assert.ok(await page.locator("#guide").isHidden());
    await page.getByTestId("guide-open").click();
    await page.locator("#guide").waitFor();
  });
});

describe("for everybody", () => {
  const places = ["201", "202", "203"];

  // Links within a sentence are excepted, as WCAG 2.5.8 does.
  const audit = () => page.evaluate((min) => {
    const controls = [...document.querySelectorAll("button, input, textarea, select, summary, [role=button], a[href]")].filter((node) => {
      const box = node.getBoundingClientRect();
      const style = getComputedStyle(node);
      return box.width > 1 && box.height > 1 && style.visibility !== "hidden" && !node.closest("[inert]") && !node.matches(".unseen, .skip");
    });
    const inline = (node) => node.matches(".content a, .text-display a, .spoiler");
    const small = controls.filter((node) => !inline(node)).filter((node) => {
      const target = node.matches(".field-choice input") ? node.closest("label") : node;
      const box = target.getBoundingClientRect();
      return box.width < min - 0.5 || box.height < min - 0.5;
    }).map((node) => `${node.className || node.tagName} ${node.getBoundingClientRect().width}×${node.getBoundingClientRect().height}`);
    const nameless = controls.filter((node) => !(node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.length || node.title)).map((node) => node.outerHTML.slice(0, 120));
    const wide = [...document.querySelectorAll("body *")].filter((node) => node.getBoundingClientRect().right > innerWidth + 0.5 && !node.closest(".chips, #drawer, pre"))
      .map((node) => `${node.tagName}.${node.className}`);
    return { small, nameless, wide: wide.slice(0, 5), overflow: document.documentElement.scrollWidth - innerWidth, scroller: document.getElementById("scroller").scrollWidth - document.getElementById("scroller").clientWidth };
  }, MIN_TARGET);
  const clean = { small: [], nameless: [], wide: [], overflow: 0, scroller: 0 };

  test("no horizontal scroll, large targets and names at 390 × 844, in every place and sheet", async () => {
    for (const place of places) {
      await goTo(place);
      assert.deepEqual(await audit(), clean, place);
    }
    await goTo("201");
    for (const open of [
      () => page.getByTestId("person-switch").click(),
      () => page.getByRole("button", { name: "Recent jobs" }).click(),
      () => page.getByRole("button", { name: "Ask", exact: true }).click(),
      () => message(mock.world.hostMessage.id).locator(".more").evaluate((node) => node.click()),
    ]) {
      await open();
      await page.getByRole("dialog").waitFor();
      assert.deepEqual(await audit(), clean);
      await page.keyboard.press("Escape");
    }
    await page.getByTestId("menu").click();
    assert.deepEqual(await audit(), clean, "drawer");
  });

  test("Tab reaches every control, and the focus can be seen", async () => {
    await page.evaluate(() => document.body.focus());
    const wanted = await page.evaluate(() => {
      const nodes = [...document.querySelectorAll("button:not(:disabled), a[href], textarea, [role=button][tabindex='0']")]
        .filter((node) => node.getClientRects().length && !node.closest("[inert]") && node.tabIndex >= 0);
      nodes.forEach((node, index) => (node.dataset.stop = String(index)));
      return nodes.length;
    });
    const met = new Set();
    let unseen = [];
    for (let n = 0; n < wanted + 15 && met.size < wanted; n += 1) {
      await page.keyboard.press("Tab");
      const now = await page.evaluate(() => {
        const style = getComputedStyle(document.activeElement);
        return { stop: document.activeElement.dataset.stop, ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0, name: document.activeElement.className };
      });
      if (now.stop !== undefined) met.add(now.stop);
      if (now.stop !== undefined && !now.ring) unseen.push(now.name);
    }
    assert.equal(met.size, wanted);
    assert.deepEqual(unseen, []);
  });

  test("new messages are told to screen readers", async () => {
    mock.add(mock.message("102", "201", { content: "hear **this**" }));
    await until(async () => (await page.locator("#live").innerText()).includes("Tess Teammate: hear this"), "the live region");
  });

  test("words stand out enough from their ground", async () => {
    for (const scheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const place of places) {
        await goTo(place);
        const weak = await page.evaluate(() => {
          const parse = (color) => color.match(/[\d.]+/g).map(Number);
          const over = (top, under) => (top[3] === undefined ? top : [0, 1, 2].map((n) => top[n] * top[3] + under[n] * (1 - top[3])));
          const light = (rgb) => rgb.slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
          const ground = (node) => {
            const layers = [];
            for (let at = node; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
            return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
          };
          const out = new Set();
          for (const node of document.querySelectorAll("body *")) {
            const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
            if (!own || !node.getClientRects().length || node.closest(":disabled, [aria-disabled], .spoiler, .cover, .unseen, .skip, [inert], .avatar, svg, #toasts")) continue;
            const back = ground(node);
            const [a, b] = [light(over(parse(getComputedStyle(node).color), back)), light(back)];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < 4.5) out.add(`${node.parentElement.tagName}.${node.parentElement.className} > ${node.className || node.tagName}: ${ratio.toFixed(2)} "${node.textContent.slice(0, 20)}"`);
          }
          return [...out];
        });
        assert.deepEqual(weak, [], `${scheme} ${place}`);
      }
    }
  });

  for (const scheme of ["dark", "light"]) {
    for (const [size, options] of [["phone", PHONE], ["desktop", DESKTOP]]) {
      test(`a screenshot, ${size}, ${scheme}`, async () => {
        await fresh({ ...options, colorScheme: scheme });
        const bright = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        assert.equal(bright === "rgb(255, 255, 255)", scheme === "light");
        await goTo("203");
        await page.screenshot({ path: `${OUT}${size}-${scheme}.png` });
        if (size === "desktop") assert.ok(await page.getByTestId("drawer").isVisible());
      });
    }
  }

  test("nothing but the two origins is asked for", async () => {
    const hosts = new Set();
    page.on("request", (request) => hosts.add(new URL(request.url()).origin));
    for (const place of places) await goTo(place);
    hosts.delete(mock.base);
    hosts.delete(mock.cdnBase);
    assert.deepEqual([...hosts].filter((host) => host !== "null"), []);
  });

  test("without the token the page says so and nothing else", async () => {
    const other = await openPage(browser, PHONE);
    const answer = await other.page.goto(`${mock.base}/`);
    assert.equal(answer.status(), 403);
    await other.context.close();
  });
});
