// Start, and the thread that runs through the page: who is played, which channel is open, whether the simulator listens.

import * as api from "./api.js";
import { startComposer } from "./composer.js";
import { startDrawer } from "./drawer.js";
import { h, icon, refill, toast } from "./dom.js";
import { startGuide } from "./guide.js";
import { addressOf, currentTarget } from "./links.js";
import { showLoading, showMessage, startMessages } from "./messages.js";
import { startModal } from "./modal.js";
import { become, byId, emit, forgetRooms, markSeen, on, room, state, takeEvent, takePage, takeState } from "./store.js";
import { keepFresh } from "./times.js";

const banner = document.getElementById("banner");
let hangUp = () => {};
let looking = false;
let lookAgain = false;
let onScreen = null; // "person|channel"

// Who was played last, for this tab only.
const WHO = "discord-os person";

async function start() {
  startMessages();
  startComposer();
  startDrawer();
  startModal();
  startGuide();
  keepFresh();
  on("stale", look);
  on("state", drawBanner);
  on("become", play);
  window.addEventListener("hashchange", () => open().catch(complain));
  showLoading();
  await play(await firstPerson());
}

async function firstPerson() {
  for (;;) {
    try {
      const answer = await api.getState(sessionStorage.getItem(WHO) ?? undefined);
      takeState(answer);
      const kept = sessionStorage.getItem(WHO);
      if (state.people.has(kept)) return kept;
      return (answer.people.find((person) => person.role === "owner") ?? answer.people[0]).id;
    } catch (error) {
      if (sessionStorage.getItem(WHO) && error.status >= 400) {
        sessionStorage.removeItem(WHO); // a person of an earlier world
        continue;
      }
      offline(error.status === 403 ? "This page was opened without its token. Use the whole address that was printed." : error.message);
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
}

/** Becomes `userId`: listens and looks with that person's eyes. */
async function play(userId) {
  hangUp();
  sessionStorage.setItem(WHO, userId);
  become(userId);
  showLoading();
  // The simulator's first event is `hello`, which makes us look at everything; so nothing falls between.
  hangUp = api.listen(userId, (event) => state.me === userId && takeEvent(event), (linked) => {
    if (state.me !== userId || state.linked === linked) return;
    state.linked = linked;
    drawBanner();
  });
}

/** Looks at everything anew: at the start, after a gap, and when the simulator says so. */
async function look() {
  if (looking) {
    lookAgain = true;
    return;
  }
  looking = true;
  const as = state.me;
  try {
    const answer = await api.getState(as);
    if (state.me === as) {
      const channel = state.channel;
      forgetRooms();
      takeState(answer);
      state.channel = channel;
      await open(true);
    }
  } catch (error) {
    complain(error);
  } finally {
    looking = false;
    if (lookAgain) {
      lookAgain = false;
      look();
    }
  }
}

function firstChannel() {
  const texts = [...state.channels.values()].filter((channel) => channel.kind === "text").sort((a, b) => byId(a.id, b.id));
  return texts[0]?.id ?? [...state.channels.keys()][0] ?? null;
}

/** Shows the channel, and the message, that the page's address names. */
async function open(again = false) {
  const target = currentTarget();
  const known = target && state.channels.has(target.channel);
  if (target && !known && !again) toast("That place is not there, or not for you to see.");
  const channel = known ? target.channel : state.channels.has(state.channel) ? state.channel : firstChannel();
  if (!channel) {
    offline("This person sees no channel. Switch to another one.");
    return;
  }
  if (!known) history.replaceState(null, "", addressOf(channel));
  const moved = onScreen !== `${state.me}|${channel}`;
  state.channel = channel;
  await load(channel);
  if (state.channel !== channel) return;
  onScreen = `${state.me}|${channel}`;
  markSeen(channel);
  if (moved || !again) emit("opened", channel);
  emit("state");
  emit("messages", channel);
  if (known && target.message && (moved || !again)) await showMessage(target.message);
}

async function load(channel) {
  if (room(channel).loaded) return;
  const as = state.me;
  if (room(channel).list.length === 0 && state.channel === channel && !document.querySelector("#messages [data-message-id]")) showLoading();
  const answer = await api.getMessages(as, channel);
  if (state.me === as) takePage(channel, answer);
}

function complain(error) {
  if (error.status !== 0) toast(error.message);
}

function offline(text) {
  banner.hidden = false;
  banner.className = "banner bad";
  refill(banner, icon("offline"), h("span", { text }));
}

function drawBanner() {
  if (!state.linked) {
    offline("The simulator does not answer. Trying again; if you ended it, start it once more and open the new address.");
  } else if (!state.botOnline) {
    banner.hidden = false;
    banner.className = "banner";
    refill(banner, icon("offline"), h("span", { text: `${state.bot.name} is offline. What you write now is kept for when it is back.` }));
  } else {
    banner.hidden = true;
  }
}

start().catch((error) => offline(error.message));
