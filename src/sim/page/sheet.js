// Dialogs: sheets that rise from the foot of a phone, and stand in the middle of a desktop.

import { h, icon } from "./dom.js";

const FOCUSABLE = "a[href], button:not(:disabled), input:not(:disabled), textarea:not(:disabled), select:not(:disabled), [tabindex='0']";

/**
 * Opens a dialog with a title and `body` nodes. Returns it with `shut()`. Escape, the cross and a tap beside it
 * close it, unless `mayClose()` says no. Focus goes to what opened it afterwards.
 */
export function openSheet({ title, body, foot = [], kind = "", label = title, mayClose = () => true, onClose = () => {} }) {
  const giveBack = focusKeeper();
  const cross = h("button", { type: "button", class: "icon-button", "aria-label": "Close", on: { click: () => tryShut() } }, icon("close"));
  const dialog = h("dialog", { class: `sheet ${kind}`, "aria-label": label },
    h("div", { class: "sheet-inner" },
      h("header", { class: "sheet-head" }, h("h2", { text: title }), cross),
      h("div", { class: "sheet-body" }, body),
      foot.length ? h("footer", { class: "sheet-foot" }, foot) : null));

  function shut() {
    if (!dialog.isConnected) return;
    dialog.close();
    dialog.remove();
    onClose();
    giveBack();
  }
  function tryShut() {
    if (mayClose()) shut();
  }
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    tryShut();
  });
  dialog.addEventListener("mousedown", (event) => event.target === dialog && tryShut());
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      tryShut();
    } else if (event.key === "Tab") {
      keepInside(dialog, event);
    }
  });
  dialog.shut = shut;
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// What had the focus may be drawn anew meanwhile: a button of a message is found again by its custom id.
function focusKeeper() {
  const before = document.activeElement;
  const message = before?.closest("[data-message-id]")?.dataset.messageId;
  const custom = before?.dataset.customId;
  return () => {
    const again = before?.isConnected || !message ? before
      : document.querySelector(`[data-message-id="${CSS.escape(message)}"] ${custom ? `[data-custom-id="${CSS.escape(custom)}"]` : ".more"}`);
    if (again?.isConnected) again.focus({ preventScroll: true });
  };
}

// Tab goes round within the dialog and never out to the browser's own controls.
function keepInside(dialog, event) {
  const stops = [...dialog.querySelectorAll(FOCUSABLE)].filter((node) => node.getClientRects().length > 0);
  if (stops.length === 0) return;
  const [first, last] = [stops[0], stops.at(-1)];
  if (event.shiftKey && (document.activeElement === first || document.activeElement === dialog)) {
    event.preventDefault();
    last.focus();
  } else if (!event.shiftKey && document.activeElement === last) {
    event.preventDefault();
    first.focus();
  }
}

/** A row of a sheet that does something. */
export function action(iconName, label, run, extra = "") {
  return h("button", { type: "button", class: `action ${extra}`, on: { click: run } }, icon(iconName), h("span", { text: label }));
}

/**
 * A menu of choices: `[{ label, description, value, on }]`. With `max` 1 a tap chooses and closes; with more,
 * Done does. Calls `choose(values)`.
 */
export function openMenu({ title, options, min = 1, max = 1, choose }) {
  const chosen = new Set(options.filter((option) => option.on).map((option) => option.value));
  const many = max > 1;
  const rows = options.map((option, index) => row(option, index));
  const list = h("div", {
    class: "menu", role: "listbox", "aria-label": title, "aria-multiselectable": many ? "true" : null,
    on: { keydown: arrows },
  }, rows.length ? rows : h("p", { class: "empty", text: "Nothing to choose from." }));
  const done = many && h("button", { type: "button", class: "button primary wide", on: { click: () => finish([...chosen]) } }, "Done");
  const dialog = openSheet({ title, body: [list], foot: done ? [done] : [], kind: "menu-sheet" });
  (rows.find((node) => node.getAttribute("aria-selected") === "true") ?? rows[0])?.focus();

  function row(option) {
    return h("button", {
      type: "button", class: "menu-row", role: "option", data: { value: option.value },
      "aria-selected": String(chosen.has(option.value)),
      on: { click: (event) => pick(option.value, event.currentTarget) },
    }, option.emoji ? h("span", { class: "menu-emoji", text: option.emoji }) : null,
      h("span", { class: "menu-words" }, h("span", { class: "menu-label", text: option.label }),
        option.description ? h("span", { class: "menu-description", text: option.description }) : null),
      h("span", { class: `tick ${many ? "square" : ""}` }, icon("check")));
  }
  function pick(value, node) {
    if (!many) return finish([value]);
    if (chosen.has(value)) chosen.delete(value);
    else if (chosen.size < max) chosen.add(value);
    node.setAttribute("aria-selected", String(chosen.has(value)));
    done.disabled = chosen.size < min;
    return undefined;
  }
  function finish(values) {
    dialog.shut();
    choose(values);
  }
  function arrows(event) {
    const at = rows.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to === undefined || !rows[to]) return;
    event.preventDefault();
    rows[to].focus();
  }
  return dialog;
}
