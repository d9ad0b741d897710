// Times as Discord shows them.

import { h } from "./dom.js";
import { now } from "./store.js";

const format = (options) => new Intl.DateTimeFormat(undefined, options);
const SHORT_TIME = format({ hour: "numeric", minute: "2-digit" });
const LONG_TIME = format({ hour: "numeric", minute: "2-digit", second: "2-digit" });
const SHORT_DATE = format({ day: "2-digit", month: "2-digit", year: "numeric" });
const LONG_DATE = format({ day: "numeric", month: "long", year: "numeric" });
const FULL = format({ weekday: "long", day: "numeric", month: "long", year: "numeric", hour: "numeric", minute: "2-digit" });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "always" });

const STEPS = [
  ["year", 365 * 86_400],
  ["month", 30 * 86_400],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

/** "3 minutes ago", "in 2 hours". */
export function relative(ms, from = now()) {
  const seconds = Math.round((ms - from) / 1000);
  const [unit, size] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? ["second", 1];
  return RELATIVE.format(Math.trunc(seconds / size), unit);
}

/** Whether `ms` is a time that a calendar can hold. */
const sane = (ms) => Number.isFinite(ms) && Math.abs(ms) < 8.64e15;

/** The element for `<t:UNIX:STYLE>`. Relative ones are kept fresh by `keepFresh`. */
export function stamp(unix, style) {
  const ms = unix * 1000;
  if (!sane(ms)) return h("span", { text: "Invalid date" });
  const date = new Date(ms);
  const text = {
    t: () => SHORT_TIME.format(date),
    T: () => LONG_TIME.format(date),
    d: () => SHORT_DATE.format(date),
    D: () => LONG_DATE.format(date),
    f: () => `${LONG_DATE.format(date)} ${SHORT_TIME.format(date)}`,
    F: () => FULL.format(date),
    s: () => `${SHORT_DATE.format(date)} ${SHORT_TIME.format(date)}`,
    S: () => `${SHORT_DATE.format(date)} ${LONG_TIME.format(date)}`,
    R: () => relative(ms),
  }[style]();
  return h("time", {
    class: "stamp",
    datetime: date.toISOString(),
    title: FULL.format(date),
    data: style === "R" ? { relative: String(ms) } : {},
    text,
  });
}

/** When a message was sent: "14:03" today, with the day before that. */
export function sentAt(ms) {
  if (!sane(ms)) return "";
  const date = new Date(ms);
  const today = new Date(now());
  const time = SHORT_TIME.format(date);
  if (date.toDateString() === today.toDateString()) return `Today at ${time}`;
  today.setDate(today.getDate() - 1);
  if (date.toDateString() === today.toDateString()) return `Yesterday at ${time}`;
  return `${SHORT_DATE.format(date)} ${time}`;
}

export const clockTime = (ms) => (sane(ms) ? SHORT_TIME.format(new Date(ms)) : "");
export const fullTime = (ms) => (sane(ms) ? FULL.format(new Date(ms)) : "");
export const isoTime = (ms) => (sane(ms) ? new Date(ms).toISOString() : null);
export const dayOf = (ms) => (sane(ms) ? LONG_DATE.format(new Date(ms)) : "");

/** Rewrites relative times once a second, only where the words change. */
export function keepFresh() {
  setInterval(() => {
    for (const node of document.querySelectorAll("time[data-relative]")) {
      const text = relative(Number(node.dataset.relative));
      if (node.textContent !== text) node.textContent = text;
    }
  }, 1000);
}
