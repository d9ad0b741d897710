// All that the page knows, in one place. Parts of the page subscribe to topics and draw from here.

/** The whole state. Changed only by the functions below. */
export const state = {
  me: null, // user id of who is played
  guild: { id: "", name: "" },
  bot: { id: "", name: "" },
  people: new Map(),
  channels: new Map(),
  rooms: new Map(), // channel id → { list: [message], hasMore, loaded }
  channel: null, // id of the channel on screen
  botOnline: true,
  linked: true,
  skewMs: 0, // simulator's clock minus ours
  typing: new Map(), // channel id → Map(user id → { name, until })
  pending: new Map(), // "message|custom id" → true while the bot has not answered
  failed: new Map(), // message id → why the last press on it failed
  dismissed: new Set(), // private replies put away
  seen: new Map(), // channel id → newest message id looked at
  replyTo: null, // message being answered
  editing: null, // own message being changed
};

const listeners = new Map();

/** Calls `fn` whenever one of `topics` (space separated) changes. */
export function on(topics, fn) {
  for (const topic of topics.split(" ")) {
    if (!listeners.has(topic)) listeners.set(topic, []);
    listeners.get(topic).push(fn);
  }
}

/** Tells the subscribers of `topic`. */
export function emit(topic, detail) {
  for (const fn of listeners.get(topic) ?? []) fn(detail);
}

/** Ids are 64-bit numbers in strings: compared as such. */
export function byId(a, b) {
  const [x, y] = [String(a), String(b)];
  return x.length - y.length || (x < y ? -1 : x > y ? 1 : 0);
}

/** The simulator's time now, in ms. */
export const now = () => Date.now() + state.skewMs;

export const me = () => state.people.get(state.me);
export const isHostBot = (userId) => userId === state.bot.id;

/** The name to show for a user id. */
export function nameOf(userId) {
  if (isHostBot(userId)) return state.bot.name;
  return state.people.get(userId)?.name ?? "someone";
}

/** Takes over an answer of `/control/state`. */
export function takeState(answer) {
  state.guild = answer.guild;
  state.bot = answer.bot;
  state.people = new Map(answer.people.map((person) => [person.id, person]));
  state.channels = new Map(answer.channels.map((channel) => [channel.id, channel]));
  state.botOnline = answer.bot_online;
  state.skewMs = answer.now_ms - Date.now();
  for (const channel of answer.channels) {
    if (!state.seen.has(channel.id)) state.seen.set(channel.id, channel.last_message_id ?? "0");
  }
  emit("state");
}

/** Forgets what was loaded, for another person or after a gap. */
export function forgetRooms() {
  state.rooms.clear();
  state.pending.clear();
  state.typing.clear();
}

/** Starts from nothing as somebody else. */
export function become(userId) {
  forgetRooms();
  state.me = userId;
  state.failed.clear();
  state.seen.clear();
  state.replyTo = null;
  state.editing = null;
}

export function room(channelId) {
  if (!state.rooms.has(channelId)) state.rooms.set(channelId, { list: [], hasMore: false, loaded: false });
  return state.rooms.get(channelId);
}

/** Takes over a page of messages: the newest ones, or older ones in front. */
export function takePage(channelId, answer, older = false) {
  const here = room(channelId);
  const known = new Map((older ? here.list : []).map((message) => [message.id, message]));
  for (const message of answer.messages) {
    message.version = nextVersion();
    known.set(message.id, message);
  }
  // A reply that only this person sees may have come by event after the page was read: keep it.
  for (const message of here.list) if (!known.has(message.id) && message.ephemeral) known.set(message.id, message);
  here.list = [...known.values()].sort((a, b) => byId(a.id, b.id));
  here.hasMore = answer.has_more;
  here.loaded = true;
  emit("messages", channelId);
}

let version = 0;
function nextVersion() {
  version += 1;
  return version;
}

/** The message, if it is loaded. */
export function findMessage(channelId, messageId) {
  return state.rooms.get(channelId)?.list.find((message) => message.id === messageId);
}

/** Draws a message anew though nothing in it changed (a press is pending, a press failed). */
export function touch(channelId, messageId) {
  const message = findMessage(channelId, messageId);
  if (message) message.version = nextVersion();
  emit("messages", channelId);
}

function upsert(message, isNew) {
  const here = room(message.channel_id);
  const at = here.list.findIndex((other) => other.id === message.id);
  message.version = nextVersion();
  if (at >= 0) here.list[at] = message;
  else if (isNew) here.list = [...here.list, message].sort((a, b) => byId(a.id, b.id));
  if (isNew && at < 0) noteArrival(message);
  emit("messages", message.channel_id);
  if (isNew && at < 0) emit("arrived", message);
}

function noteArrival(message) {
  const channel = state.channels.get(message.channel_id);
  if (channel && byId(message.id, channel.last_message_id ?? "0") > 0) {
    channel.last_message_id = message.id;
    channel.message_count += 1;
  }
  state.typing.get(message.channel_id)?.delete(message.author.id);
  if (message.author.id === state.me || message.channel_id === state.channel) markSeen(message.channel_id);
  emit("state");
  emit("typing");
}

/** Remembers that the person has looked at all of a channel. */
export function markSeen(channelId) {
  const newest = state.channels.get(channelId)?.last_message_id;
  if (newest) state.seen.set(channelId, newest);
}

/** Whether something came since the person looked. */
export function isUnread(channel) {
  return byId(channel.last_message_id ?? "0", state.seen.get(channel.id) ?? "0") > 0;
}

// How long one typing event counts; Discord's own lasts about as long.
const TYPING_MS = 9000;

/** Takes over one server-sent event. What needs a look at the server again is emitted as `stale`. */
export function takeEvent(event) {
  switch (event.type) {
    case "hello":
    case "reset":
      return emit("stale");
    case "message":
      return upsert(event.message, true);
    case "message_update":
      return upsert(event.message, false);
    case "message_delete": {
      const here = room(event.channel_id);
      const gone = new Set(event.message_ids);
      here.list = here.list.filter((message) => !gone.has(message.id));
      if (gone.has(state.replyTo?.id) || gone.has(state.editing?.id)) compose({});
      return emit("messages", event.channel_id);
    }
    case "channel": {
      const old = state.channels.get(event.channel.id);
      state.channels.set(event.channel.id, event.channel);
      if (!old && !state.seen.has(event.channel.id)) state.seen.set(event.channel.id, "0");
      emit("state");
      return emit("messages", event.channel.parent_id);
    }
    case "typing": {
      if (event.user_id === state.me) return undefined;
      if (!state.typing.has(event.channel_id)) state.typing.set(event.channel_id, new Map());
      state.typing.get(event.channel_id).set(event.user_id, { name: event.name, until: Date.now() + TYPING_MS });
      return emit("typing");
    }
    case "bot":
      state.botOnline = event.online;
      return emit("state");
    case "interaction":
    case "modal":
      return emit(event.type, event);
    default:
      return undefined; // a newer simulator may say more
  }
}

/** Who types in the channel now. */
export function typists(channelId) {
  const here = state.typing.get(channelId) ?? new Map();
  for (const [id, entry] of here) if (entry.until < Date.now()) here.delete(id);
  return [...here.values()].map((entry) => entry.name);
}

/** Begins a reply or an edit, or neither. */
export function compose({ replyTo = null, editing = null }) {
  state.replyTo = replyTo;
  state.editing = editing;
  emit("compose");
}
