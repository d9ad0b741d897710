-- Times are Unix milliseconds, money is millionths of a US dollar, snowflakes are integers.

CREATE TABLE numbers (
    name TEXT PRIMARY KEY,
    next INTEGER NOT NULL CHECK (next > 0)
) STRICT;

CREATE TABLE hosts (
    host_id   TEXT PRIMARY KEY,
    boot_id   TEXT NOT NULL,
    power     TEXT NOT NULL CHECK (power IN ('off', 'on')),
    power_by  TEXT NOT NULL,
    power_why TEXT,
    power_at  INTEGER NOT NULL,
    halted    INTEGER NOT NULL DEFAULT 0 CHECK (halted IN (0, 1)),
    halted_by TEXT,
    halted_at INTEGER,
    started_at INTEGER NOT NULL
) STRICT;

-- A bot has a key of ours, since its Discord id is unknown before READY.
CREATE TABLE bots (
    bot_key        TEXT PRIMARY KEY,
    host_id        TEXT NOT NULL REFERENCES hosts (host_id),
    kind           TEXT NOT NULL CHECK (kind IN ('host', 'session')),
    user_id        INTEGER UNIQUE,
    application_id INTEGER,
    name           TEXT,
    link           TEXT NOT NULL DEFAULT 'down' CHECK (link IN ('down', 'connecting', 'up', 'fatal')),
    link_why       TEXT,
    link_at        INTEGER,
    last_message_at INTEGER,
    identifies_left INTEGER
) STRICT;
CREATE INDEX bots_of_host ON bots (host_id, kind);

CREATE TABLE gateway (
    bot_key    TEXT PRIMARY KEY REFERENCES bots (bot_key),
    session_id TEXT NOT NULL,
    resume_url TEXT NOT NULL,
    seq        INTEGER NOT NULL CHECK (seq >= 0),
    at         INTEGER NOT NULL
) STRICT;

CREATE TABLE identifies (
    bot_key TEXT NOT NULL REFERENCES bots (bot_key),
    at      INTEGER NOT NULL
) STRICT;
CREATE INDEX identifies_by_time ON identifies (bot_key, at);

-- Where we listen, and how far we have read (I-2).
CREATE TABLE channels (
    bot_key    TEXT NOT NULL REFERENCES bots (bot_key),
    channel_id INTEGER NOT NULL,
    parent_id  INTEGER,
    guild_id   INTEGER,
    role       TEXT NOT NULL CHECK (role IN ('staff', 'bound', 'thread')),
    cursor_id  INTEGER,
    cursor_at  INTEGER,
    retired    INTEGER NOT NULL DEFAULT 0 CHECK (retired IN (0, 1)),
    PRIMARY KEY (bot_key, channel_id)
) STRICT;
CREATE INDEX channels_live ON channels (bot_key, retired, role);
CREATE INDEX channels_by_parent ON channels (parent_id);

CREATE TABLE people (
    bot_key  TEXT NOT NULL REFERENCES bots (bot_key),
    user_id  INTEGER NOT NULL,
    -- A row names a person, or everybody who has a role of the guild (`user_id` is the role's id then).
    kind     TEXT NOT NULL DEFAULT 'user' CHECK (kind = 'user' OR (kind = 'role' AND role <> 'owner')),
    role     TEXT NOT NULL CHECK (role IN ('owner', 'operator', 'approver', 'member')),
    name     TEXT,
    added_by TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (bot_key, user_id, role)
) STRICT;
-- One owner a bot, whoever is first (I-5).
CREATE UNIQUE INDEX people_one_owner ON people (bot_key) WHERE role = 'owner';

-- Every message that was heard, once (I-1).
CREATE TABLE inbox (
    bot_key     TEXT NOT NULL REFERENCES bots (bot_key),
    message_id  INTEGER NOT NULL,
    channel_id  INTEGER NOT NULL,
    author_id   INTEGER NOT NULL,
    author_kind TEXT NOT NULL CHECK (author_kind IN ('human', 'bot', 'webhook')),
    lane        TEXT NOT NULL CHECK (lane IN ('control', 'work', 'letters', 'answers', 'none')),
    state       TEXT NOT NULL CHECK (state IN ('acted', 'held', 'dropped', 'ignored', 'refused')),
    why         TEXT,
    text        TEXT,
    via         TEXT NOT NULL CHECK (via IN ('gateway', 'rest', 'local')),
    heard_at    INTEGER NOT NULL,
    PRIMARY KEY (bot_key, message_id)
) STRICT;
CREATE INDEX inbox_by_channel ON inbox (channel_id, message_id);
CREATE INDEX inbox_held ON inbox (bot_key, message_id) WHERE state = 'held';

-- Every interaction that was heard, once (I-1). The token goes when it is used or 15 minutes old.
CREATE TABLE interactions (
    bot_key        TEXT NOT NULL REFERENCES bots (bot_key),
    interaction_id INTEGER NOT NULL,
    user_id        INTEGER NOT NULL,
    channel_id     INTEGER NOT NULL,
    verb           TEXT NOT NULL,
    subject        TEXT,
    outcome        TEXT NOT NULL CHECK (outcome IN ('done', 'refused', 'stale', 'unknown')),
    token          TEXT,
    token_until    INTEGER,
    at             INTEGER NOT NULL,
    PRIMARY KEY (bot_key, interaction_id)
) STRICT;
CREATE INDEX interactions_with_token ON interactions (token_until) WHERE token IS NOT NULL;

CREATE TABLE tasks (
    task_id        TEXT PRIMARY KEY,
    code           INTEGER NOT NULL UNIQUE,
    bot_key        TEXT NOT NULL REFERENCES bots (bot_key),
    channel_id     INTEGER NOT NULL,
    guild_id       INTEGER,
    ask_message_id INTEGER,
    thread_id      INTEGER,
    asker          TEXT NOT NULL,
    asker_name     TEXT NOT NULL,
    text           TEXT NOT NULL,
    mode           TEXT NOT NULL CHECK (mode IN ('question', 'work', 'unsure')),
    at             INTEGER NOT NULL,
    UNIQUE (bot_key, ask_message_id)
) STRICT;
CREATE INDEX tasks_by_thread ON tasks (thread_id);
CREATE INDEX tasks_by_time ON tasks (at);

CREATE TABLE runs (
    run_id       TEXT PRIMARY KEY,
    task_id      TEXT NOT NULL REFERENCES tasks (task_id),
    turn         INTEGER NOT NULL CHECK (turn > 0),
    prompt       TEXT NOT NULL,
    backend      TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('waiting', 'queued', 'claimed', 'started', 'cancelling', 'finishing',
                     'done', 'failed', 'cancelled', 'cancel_unconfirmed', 'interrupted', 'denied')),
    host_id      TEXT NOT NULL REFERENCES hosts (host_id),
    mark         TEXT NOT NULL UNIQUE,
    warden_pid   INTEGER,
    warden_start INTEGER,
    confinement  TEXT,
    answer       TEXT NOT NULL DEFAULT '',
    summary      TEXT,
    error        TEXT,
    model        TEXT,
    input_tokens INTEGER,
    output_tokens INTEGER,
    ended_processes INTEGER,
    cancel_by    TEXT,
    created_at   INTEGER NOT NULL,
    claimed_at   INTEGER,
    started_at   INTEGER,
    ended_at     INTEGER,
    UNIQUE (task_id, turn)
) STRICT;
CREATE INDEX runs_by_state ON runs (host_id, state, created_at);
CREATE INDEX runs_by_time ON runs (created_at);

CREATE TABLE steps (
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    n      INTEGER NOT NULL,
    text   TEXT NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (run_id, n)
) STRICT;

-- A yes or no to one action of one run, given once (I-7).
CREATE TABLE approvals (
    approval_id TEXT PRIMARY KEY,
    run_id      TEXT NOT NULL REFERENCES runs (run_id),
    action      TEXT NOT NULL,
    digest      TEXT NOT NULL,
    approvers   TEXT NOT NULL CHECK (approvers IN ('owner', 'operator', 'approver')),
    state       TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'lapsed')),
    decided_by  TEXT,
    decided_at  INTEGER,
    deadline    INTEGER,
    at          INTEGER NOT NULL,
    UNIQUE (run_id, digest)
) STRICT;
CREATE INDEX approvals_pending ON approvals (run_id) WHERE state = 'pending';

CREATE TABLE meters (
    meter_id  TEXT PRIMARY KEY,
    host_id   TEXT NOT NULL REFERENCES hosts (host_id),
    cap       INTEGER NOT NULL CHECK (cap >= 0),
    opened_at INTEGER NOT NULL,
    closed_at INTEGER
) STRICT;
CREATE UNIQUE INDEX meters_one_open ON meters (host_id) WHERE closed_at IS NULL;

-- Reserved before a start, settled after (I-8).
CREATE TABLE spend (
    run_id    TEXT PRIMARY KEY REFERENCES runs (run_id),
    meter_id  TEXT NOT NULL REFERENCES meters (meter_id),
    reserved  INTEGER NOT NULL CHECK (reserved >= 0),
    spent     INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
    overshoot INTEGER NOT NULL DEFAULT 0 CHECK (overshoot >= 0),
    basis     TEXT NOT NULL CHECK (basis IN ('exact', 'estimated', 'unknown', 'free')),
    settled   INTEGER NOT NULL DEFAULT 0 CHECK (settled IN (0, 1)),
    at        INTEGER NOT NULL
) STRICT;
CREATE INDEX spend_by_meter ON spend (meter_id, settled, reserved, spent);

-- An upload that is meant to happen, recorded before any byte leaves (I-9).
CREATE TABLE puts (
    put_id     TEXT PRIMARY KEY,
    bot_key    TEXT NOT NULL REFERENCES bots (bot_key),
    channel_id INTEGER NOT NULL,
    parent_id  INTEGER,
    run_id     TEXT REFERENCES runs (run_id),
    path       TEXT NOT NULL,
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('blob', 'diff', 'log', 'image', 'audio', 'text')),
    sha256     TEXT NOT NULL,
    size       INTEGER NOT NULL CHECK (size >= 0),
    nonce      TEXT NOT NULL UNIQUE,
    state      TEXT NOT NULL CHECK (state IN ('intended', 'stored', 'failed')),
    why        TEXT,
    message_id INTEGER,
    at         INTEGER NOT NULL
) STRICT;
CREATE INDEX puts_by_run ON puts (run_id, state);
CREATE INDEX puts_open ON puts (at) WHERE state = 'intended';

-- Where stored bytes lie. No link is ever kept (I-10).
CREATE TABLE objects (
    artifact_id   TEXT PRIMARY KEY,
    bot_key       TEXT NOT NULL REFERENCES bots (bot_key),
    channel_id    INTEGER NOT NULL,
    parent_id     INTEGER,
    guild_id      INTEGER,
    message_id    INTEGER NOT NULL,
    attachment_id INTEGER NOT NULL,
    name          TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('blob', 'diff', 'log', 'image', 'audio', 'text')),
    sha256        TEXT NOT NULL,
    size          INTEGER NOT NULL CHECK (size >= 0),
    content_type  TEXT,
    run_id        TEXT,
    overflow      INTEGER NOT NULL DEFAULT 0 CHECK (overflow IN (0, 1)),
    encrypted     INTEGER NOT NULL DEFAULT 0 CHECK (encrypted IN (0, 1)),
    at            INTEGER NOT NULL,
    UNIQUE (bot_key, message_id, attachment_id)
) STRICT;
CREATE INDEX objects_by_channel ON objects (channel_id, artifact_id);
CREATE INDEX objects_by_parent ON objects (parent_id, artifact_id);
CREATE INDEX objects_by_hash ON objects (sha256, channel_id);
CREATE INDEX objects_by_run ON objects (run_id);
CREATE INDEX objects_by_message ON objects (message_id);

-- A Discord message that reflects state: last state wins. `copy` numbers several of one subject.
CREATE TABLE mirrors (
    mirror_id   INTEGER PRIMARY KEY,
    bot_key     TEXT NOT NULL REFERENCES bots (bot_key),
    kind        TEXT NOT NULL CHECK (kind IN ('host', 'job')),
    subject     TEXT NOT NULL,
    copy        INTEGER NOT NULL DEFAULT 0,
    target_kind TEXT NOT NULL CHECK (target_kind IN ('channel', 'thread')),
    target_id   TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('wanted', 'posting', 'shown', 'closed')),
    channel_id  INTEGER,
    message_id  INTEGER,
    shown_hash  TEXT,
    nonce       TEXT NOT NULL,
    -- When its first post was begun: from there on it is looked for after a break.
    posting_at  INTEGER,
    wanted_rev  INTEGER NOT NULL DEFAULT 1,
    shown_rev   INTEGER NOT NULL DEFAULT 0,
    tries       INTEGER NOT NULL DEFAULT 0,
    next_at     INTEGER NOT NULL DEFAULT 0,
    why         TEXT,
    UNIQUE (bot_key, kind, subject, copy)
) STRICT;
CREATE INDEX mirrors_due ON mirrors (bot_key, next_at) WHERE shown_rev < wanted_rev AND state <> 'closed';
CREATE INDEX mirrors_by_message ON mirrors (message_id);
CREATE INDEX mirrors_by_subject ON mirrors (kind, subject);

-- A fact that is said once, in order for each target (I-12).
CREATE TABLE outbox (
    row_id      INTEGER PRIMARY KEY,
    bot_key     TEXT NOT NULL REFERENCES bots (bot_key),
    target_kind TEXT NOT NULL CHECK (target_kind IN ('channel', 'thread', 'dm', 'reaction')),
    target_id   TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('starter', 'receipt', 'reply', 'notice', 'reaction')),
    subject     TEXT,
    reply_to    INTEGER,
    body        TEXT NOT NULL,
    nonce       TEXT NOT NULL UNIQUE,
    state       TEXT NOT NULL CHECK (state IN ('queued', 'sending', 'sent', 'held', 'failed')),
    tries       INTEGER NOT NULL DEFAULT 0,
    next_at     INTEGER NOT NULL DEFAULT 0,
    why         TEXT,
    channel_id  INTEGER,
    message_id  INTEGER,
    at          INTEGER NOT NULL,
    sent_at     INTEGER
) STRICT;
CREATE INDEX outbox_open ON outbox (bot_key, row_id) WHERE state IN ('queued', 'sending');
CREATE INDEX outbox_held ON outbox (bot_key) WHERE state = 'held';
CREATE INDEX outbox_failed ON outbox (bot_key) WHERE state = 'failed';
CREATE UNIQUE INDEX outbox_one_receipt ON outbox (kind, subject) WHERE kind IN ('starter', 'receipt');

-- Something to be done once on Discord for a subject, retried until it is.
CREATE TABLE errands (
    errand_id INTEGER PRIMARY KEY,
    kind      TEXT NOT NULL CHECK (kind IN ('open_thread')),
    subject   TEXT NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('due', 'done', 'failed')),
    tries     INTEGER NOT NULL DEFAULT 0,
    next_at   INTEGER NOT NULL DEFAULT 0,
    why       TEXT,
    UNIQUE (kind, subject)
) STRICT;
CREATE INDEX errands_due ON errands (next_at) WHERE state = 'due';
