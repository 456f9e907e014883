-- Instants are integers: microseconds since 1970 UTC, written "µs" beside the column; 0 means never unless NULL is allowed.
-- Durations are microseconds as well. Lists and objects that nothing filters by are JSON text. The twin of this file in the
-- other dialect has the same tables and columns; a test holds them together.
--
-- Each row that is written for every message costs a page for its table and one for each of its indexes, in every commit it is
-- touched in; so an index must be worth it to a query that is asked often.

CREATE TABLE owners (
	id           INTEGER PRIMARY KEY AUTOINCREMENT,
	state        TEXT NOT NULL CHECK (state IN ('alive', 'ended', 'voided')),
	host         TEXT NOT NULL DEFAULT '',
	pid          INTEGER NOT NULL DEFAULT 0,
	started_at   INTEGER NOT NULL, -- µs
	renewed_at   INTEGER NOT NULL, -- µs, the database's clock
	expires_at   INTEGER,          -- µs, the database's clock; NULL: never (SQLite, where the lock file says who lives)
	declared_at  INTEGER,          -- µs, the database's clock: when others found it dead; a renewal takes it back
	in_time_since INTEGER NOT NULL DEFAULT 0, -- µs, the database's clock: since when its renewals come in time
	ended_at     INTEGER           -- µs
) STRICT;
CREATE INDEX owners_alive ON owners (id) WHERE state = 'alive';

-- What the data folder of every engine on this database must say, in its file of the same name.
CREATE TABLE cluster (
	one        INTEGER PRIMARY KEY DEFAULT 1 CHECK (one = 1),
	id         TEXT NOT NULL,
	created_at INTEGER NOT NULL -- µs
) STRICT;

CREATE TABLE leases (
	kind     TEXT NOT NULL CHECK (kind IN ('session', 'channel', 'run')),
	name     TEXT NOT NULL,
	owner    INTEGER REFERENCES owners (id), -- NULL: free
	fence    INTEGER NOT NULL,               -- grows at every take
	taken_at INTEGER NOT NULL,               -- µs
	PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE people (
	name       TEXT PRIMARY KEY,
	role       TEXT NOT NULL CHECK (role IN ('admin', 'user')),
	tools      TEXT NOT NULL DEFAULT '[]', -- JSON list of patterns
	timezone   TEXT NOT NULL DEFAULT '',
	source     TEXT NOT NULL CHECK (source IN ('config', 'open', 'local')),
	created_at INTEGER NOT NULL, -- µs
	updated_at INTEGER NOT NULL  -- µs; source open: when they were last seen, to a day
) STRICT;
CREATE INDEX people_admins ON people (name) WHERE role = 'admin';
CREATE INDEX people_open ON people (updated_at) WHERE source = 'open';

CREATE TABLE identities (
	identity   TEXT PRIMARY KEY, -- kind:id or channel:id; of another workspace kind:TEAM/id
	person     TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
	linked     INTEGER NOT NULL DEFAULT FALSE, -- its owner joined it; the settings leave it where it is
	created_at INTEGER NOT NULL   -- µs
) STRICT;
CREATE INDEX identities_person ON identities (person);

CREATE TABLE conversations (
	id           INTEGER PRIMARY KEY AUTOINCREMENT,
	channel      TEXT NOT NULL,
	conversation TEXT NOT NULL,
	kind         TEXT NOT NULL CHECK (kind IN ('', 'direct', 'group', 'thread')),
	place        TEXT NOT NULL DEFAULT '',
	title        TEXT NOT NULL DEFAULT '',
	next_seq     INTEGER NOT NULL DEFAULT 0, -- the last delivery number given out
	gone_at      INTEGER NOT NULL DEFAULT 0, -- µs, since when it is closed to us; 0: it is open
	gone_notified    INTEGER NOT NULL DEFAULT FALSE, -- a delivery has failed of it since
	created_at   INTEGER NOT NULL, -- µs
	UNIQUE (channel, conversation)
) STRICT;

-- How far a channel has read a conversation's history, in its adapter's own words.
CREATE TABLE marks (
	channel      TEXT NOT NULL,
	conversation TEXT NOT NULL,
	mark         TEXT NOT NULL,
	noted_at     INTEGER NOT NULL, -- µs
	PRIMARY KEY (channel, conversation)
) STRICT;
CREATE INDEX marks_noted ON marks (noted_at);

-- Under which IDs a conversation was known before its platform gave it another.
CREATE TABLE moved (
	channel         TEXT NOT NULL,
	former          TEXT NOT NULL,
	conversation_id INTEGER NOT NULL REFERENCES conversations (id),
	moved_at        INTEGER NOT NULL, -- µs
	PRIMARY KEY (channel, former)
) STRICT;
CREATE INDEX moved_conversation ON moved (conversation_id);
CREATE INDEX moved_at ON moved (moved_at, channel, former);

CREATE TABLE sessions (
	id              INTEGER PRIMARY KEY AUTOINCREMENT,
	conversation_id INTEGER NOT NULL UNIQUE REFERENCES conversations (id),
	key             TEXT NOT NULL UNIQUE, -- channel:conversation
	summary         TEXT NOT NULL DEFAULT '',
	summary_taint   TEXT NOT NULL DEFAULT '',
	mode            TEXT NOT NULL DEFAULT '' CHECK (mode IN ('', 'ask', 'act')), -- empty: the settings'
	model           TEXT NOT NULL DEFAULT '',
	language        TEXT NOT NULL DEFAULT '',
	timezone        TEXT NOT NULL DEFAULT '',
	reset_message   INTEGER NOT NULL DEFAULT 0, -- messages up to this one are forgotten
	reset_turn      INTEGER NOT NULL DEFAULT 0, -- so is what turns up to this one said
	next_event      INTEGER NOT NULL DEFAULT 0, -- the last event number given out
	person          TEXT NOT NULL DEFAULT '', -- a direct chat: who wrote there last
	used_at         INTEGER NOT NULL DEFAULT 0, -- µs, its latest event
	created_at      INTEGER NOT NULL -- µs
) STRICT;
CREATE INDEX sessions_person ON sessions (person) WHERE person <> '';

CREATE TABLE event_keys (
	key        BLOB PRIMARY KEY, -- a hash; outlives the data it stands for
	expires_at INTEGER NOT NULL    -- µs
) STRICT, WITHOUT ROWID;
CREATE INDEX event_keys_expiry ON event_keys (expires_at);

CREATE TABLE rejected (
	id           INTEGER PRIMARY KEY AUTOINCREMENT,
	channel      TEXT NOT NULL,
	conversation TEXT NOT NULL DEFAULT '',
	reason       TEXT NOT NULL,
	raw          BLOB NOT NULL, -- as it came, NUL bytes and all
	created_at   INTEGER NOT NULL -- µs
) STRICT;

CREATE TABLE messages (
	id              INTEGER PRIMARY KEY AUTOINCREMENT,
	conversation_id INTEGER NOT NULL, -- names conversations
	session_id      INTEGER REFERENCES sessions (id), -- NULL: of class stranger or overheard
	turn_id         INTEGER, -- the turn that answers it (in) or said it (out); NULL: none
	direction       TEXT NOT NULL CHECK (direction IN ('in', 'out')),
	class           TEXT NOT NULL CHECK (class IN ('turn', 'control', 'notice', 'stranger', 'overheard', 'note', 'revision', 'reply', 'say', 'draft')),
	origin          TEXT NOT NULL DEFAULT '' CHECK (origin IN ('', 'chat', 'api', 'job')),
	person          TEXT NOT NULL DEFAULT '', -- who wrote it (in) or is answered by it (out)
	author          TEXT NOT NULL DEFAULT '', -- the name shown
	identity        TEXT NOT NULL DEFAULT '',
	rule            TEXT NOT NULL DEFAULT '', -- direction in: the rule by which it was let in or kept out
	platform_id     TEXT NOT NULL DEFAULT '',
	reply_to        TEXT NOT NULL DEFAULT '', -- a platform's message ID
	text            TEXT NOT NULL,
	quote           TEXT NOT NULL DEFAULT '',
	outside         INTEGER NOT NULL DEFAULT FALSE, -- the text is not the person's own: forwarded, a card, a choice made of what was read
	forwarded_from  TEXT NOT NULL DEFAULT '', -- who wrote it, as the platform labels them
	taint           TEXT NOT NULL DEFAULT '',
	notice          INTEGER NOT NULL DEFAULT FALSE,
	final           INTEGER NOT NULL DEFAULT FALSE,
	attempt         INTEGER NOT NULL DEFAULT 0,  -- class say: the plan it comes from
	position        INTEGER NOT NULL DEFAULT -1, -- class say: the msg task it comes from; -1: none
	choices         TEXT, -- class say: JSON list; NULL: none
	said            TEXT, -- class say: the agent's own words, direction in: what was typed, where the text differs from them
	replaces        INTEGER, -- class revision: the message as first taken
	attachments     INTEGER NOT NULL DEFAULT 0, -- how many came with it
	happened_at     INTEGER NOT NULL DEFAULT 0, -- µs, as the platform says
	created_at      INTEGER NOT NULL -- µs
) STRICT;
CREATE INDEX messages_session ON messages (session_id, id);
CREATE INDEX messages_platform ON messages (conversation_id, platform_id) WHERE direction = 'in' AND platform_id <> '';
CREATE INDEX messages_unserved ON messages (conversation_id) WHERE session_id IS NULL;
CREATE INDEX messages_turn ON messages (turn_id, id) WHERE turn_id IS NOT NULL;

CREATE TABLE attachments (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	message_id  INTEGER REFERENCES messages (id) ON DELETE CASCADE, -- NULL: made here
	session_id  INTEGER REFERENCES sessions (id), -- NULL: a stranger's
	position    INTEGER NOT NULL DEFAULT 0,
	platform_id TEXT NOT NULL DEFAULT '', -- empty: made here
	kind        TEXT NOT NULL DEFAULT '' CHECK (kind IN ('', 'document', 'photo', 'audio', 'video', 'voice')),
	name        TEXT NOT NULL DEFAULT '',
	type        TEXT NOT NULL DEFAULT '',
	size        INTEGER NOT NULL DEFAULT 0, -- bytes; 0: unknown
	state       TEXT NOT NULL DEFAULT 'referenced' CHECK (state IN ('referenced', 'clean', 'quarantined', 'gone')),
	reason      TEXT NOT NULL DEFAULT '', -- quarantined: why
	blob        TEXT NOT NULL DEFAULT '', -- where the bytes are; empty: only at the platform
	taint       TEXT NOT NULL DEFAULT '',
	created_at  INTEGER NOT NULL, -- µs
	used_at     INTEGER NOT NULL, -- µs, when its bytes were last fetched or made
	UNIQUE (message_id, position)
) STRICT;
CREATE INDEX attachments_blob ON attachments (blob) WHERE blob <> '';
CREATE INDEX attachments_session ON attachments (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX attachments_used ON attachments (used_at) WHERE state <> 'gone';

CREATE TABLE turns (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	session_id       INTEGER NOT NULL REFERENCES sessions (id),
	message_id       INTEGER NOT NULL UNIQUE REFERENCES messages (id),
	person           TEXT NOT NULL,
	state            TEXT NOT NULL CHECK (state IN ('queued', 'running', 'waiting', 'done', 'failed', 'cancelled', 'merged')),
	outcome          TEXT NOT NULL DEFAULT '',
	cancel_requested TEXT NOT NULL DEFAULT '' CHECK (cancel_requested IN ('', 'cancelled', 'interrupted')), -- why; empty: it is not
	resumed          INTEGER NOT NULL DEFAULT 0, -- takeovers from a dead owner since the last committed step
	holders          TEXT NOT NULL DEFAULT '', -- OWNER:FENCE:µs of each engine that set it running, in order, a space between
	merged_into      INTEGER REFERENCES turns (id),
	merged_from      INTEGER, -- the first attempt that heeds it; -1: it was collected before the turn began; NULL: not merged
	absorb           INTEGER NOT NULL DEFAULT FALSE, -- it may be merged into the person's running turn
	not_before       INTEGER NOT NULL DEFAULT 0, -- µs, it waits until then for more to be collected
	draft_id         INTEGER, -- the delivery that is its open draft
	shown            INTEGER NOT NULL DEFAULT FALSE, -- its channel may show that it is at work
	retry_of         INTEGER, -- the turn whose work it does again, the first of all its retries; NULL: none. It may be gone
	asked_at         INTEGER NOT NULL DEFAULT 0, -- µs, since when it waits for an answer, where that is before created_at; 0: it is not
	away             INTEGER NOT NULL DEFAULT 0, -- µs in all that nobody worked on it after it had begun, in pauses longer than stale_after
	resumed_at       INTEGER NOT NULL DEFAULT 0, -- µs, the end of the latest such pause; 0: none
	calls            INTEGER NOT NULL DEFAULT 0,
	tokens_in        INTEGER NOT NULL DEFAULT 0,
	tokens_out       INTEGER NOT NULL DEFAULT 0,
	cost             REAL NOT NULL DEFAULT 0, -- in the currency of [budget]
	created_at       INTEGER NOT NULL, -- µs
	started_at       INTEGER, -- µs
	finished_at      INTEGER, -- µs
	parked_at        INTEGER, -- µs, since when it waits, or did last; NULL: it never did
	waited           INTEGER NOT NULL DEFAULT 0, -- µs in all that it waited before that was over
	ahead            INTEGER, -- its rank in the queue where that is not its ID: below 0, ahead of all that have not begun
	-- The lowest rank of a session is its next turn: the one that runs, else the first of the queue. NULL: it is in no queue.
	rank             INTEGER GENERATED ALWAYS AS (CASE state WHEN 'running' THEN -1000000000000000000 WHEN 'queued' THEN coalesce(ahead, id) END) VIRTUAL
) STRICT;
CREATE UNIQUE INDEX turns_open ON turns (session_id, rank) WHERE rank IS NOT NULL; -- unique: never two of a session run
CREATE INDEX turns_session ON turns (session_id, message_id); -- not by rank, so that turns_open is what finds a head
CREATE INDEX turns_oldest ON turns (state, created_at, id) WHERE rank IS NOT NULL;
CREATE INDEX turns_parked ON turns (session_id, id) WHERE parked_at IS NOT NULL;
CREATE INDEX turns_merged ON turns (merged_into, id) WHERE merged_into IS NOT NULL;
CREATE INDEX turns_shown ON turns (id) WHERE shown = TRUE;
CREATE INDEX turns_retry ON turns (retry_of, id) WHERE retry_of IS NOT NULL;

CREATE TABLE plans (
	turn_id    INTEGER NOT NULL REFERENCES turns (id),
	attempt    INTEGER NOT NULL,
	goal       TEXT NOT NULL,
	secrets    TEXT NOT NULL DEFAULT '[]', -- JSON list of names; never a value
	created_at INTEGER NOT NULL, -- µs
	PRIMARY KEY (turn_id, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
	turn_id     INTEGER NOT NULL,
	attempt     INTEGER NOT NULL,
	position    INTEGER NOT NULL,
	type        TEXT NOT NULL CHECK (type IN ('exec', 'msg', 'tool')),
	detail      TEXT NOT NULL,
	tool        TEXT,
	args        TEXT,
	expect      TEXT,
	choices     TEXT, -- JSON list
	answer      TEXT,
	state       TEXT NOT NULL CHECK (state IN ('pending', 'running', 'done', 'failed', 'interrupted', 'cancelled')),
	outcome     TEXT NOT NULL DEFAULT '' CHECK (outcome IN ('', 'ok', 'error', 'refused', 'timeout', 'cancelled')),
	has_result  INTEGER NOT NULL DEFAULT FALSE,
	output      TEXT NOT NULL DEFAULT '',
	code        TEXT NOT NULL DEFAULT '',
	rule        TEXT NOT NULL DEFAULT '',
	allowed_by  TEXT NOT NULL DEFAULT '', -- exec, tool: the rule by which it was let run
	hint        TEXT NOT NULL DEFAULT '',
	taint       TEXT NOT NULL DEFAULT '',
	created_at  INTEGER NOT NULL, -- µs
	started_at  INTEGER, -- µs
	finished_at INTEGER, -- µs
	PRIMARY KEY (turn_id, attempt, position),
	FOREIGN KEY (turn_id, attempt) REFERENCES plans (turn_id, attempt)
) STRICT;

CREATE TABLE reviews (
	turn_id    INTEGER NOT NULL,
	attempt    INTEGER NOT NULL,
	position   INTEGER NOT NULL,
	status     TEXT NOT NULL CHECK (status IN ('ok', 'replan')),
	reason     TEXT NOT NULL DEFAULT '',
	learn      TEXT NOT NULL DEFAULT '',
	taint      TEXT NOT NULL DEFAULT '',
	created_at INTEGER NOT NULL, -- µs
	PRIMARY KEY (turn_id, attempt, position),
	FOREIGN KEY (turn_id, attempt, position) REFERENCES tasks (turn_id, attempt, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE llm_calls (
	turn_id    INTEGER NOT NULL REFERENCES turns (id),
	step       TEXT NOT NULL,
	ordinal    INTEGER NOT NULL, -- the order in which they were committed
	role       TEXT NOT NULL,
	provider   TEXT NOT NULL DEFAULT '',
	model      TEXT NOT NULL DEFAULT '',
	error      TEXT NOT NULL DEFAULT '',
	refused    TEXT NOT NULL DEFAULT '', -- what was wrong with the answer; empty: it was used
	tokens_in  INTEGER NOT NULL DEFAULT 0,
	tokens_out INTEGER NOT NULL DEFAULT 0,
	cached     INTEGER NOT NULL DEFAULT 0,
	cost       REAL NOT NULL DEFAULT 0,
	duration   INTEGER NOT NULL DEFAULT 0, -- µs
	created_at INTEGER NOT NULL, -- µs
	PRIMARY KEY (turn_id, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE llm_bodies (
	turn_id    INTEGER NOT NULL,
	step       TEXT NOT NULL,
	answer     BLOB, -- zstd; NULL: empty
	request    BLOB, -- zstd
	response   BLOB, -- zstd
	expires_at INTEGER NOT NULL, -- µs
	PRIMARY KEY (turn_id, step),
	FOREIGN KEY (turn_id, step) REFERENCES llm_calls (turn_id, step) ON DELETE CASCADE
) STRICT;
CREATE INDEX llm_bodies_expiry ON llm_bodies (expires_at);

CREATE TABLE memories (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	kind       TEXT NOT NULL CHECK (kind IN ('fact', 'preference', 'rule', 'question', 'learning')),
	scope      TEXT NOT NULL CHECK (scope IN ('global', 'person', 'session')),
	person     TEXT NOT NULL DEFAULT '', -- scope person; else empty
	session_id INTEGER REFERENCES sessions (id), -- scope session; else NULL
	text       TEXT NOT NULL,
	state      TEXT NOT NULL CHECK (state IN ('pending', 'active', 'promoted', 'discarded', 'answered')),
	outcome    TEXT NOT NULL DEFAULT '',
	source     TEXT NOT NULL DEFAULT '',
	confidence REAL NOT NULL DEFAULT 1,
	taint      TEXT NOT NULL DEFAULT '',
	turn_id    INTEGER REFERENCES turns (id),
	created_at INTEGER NOT NULL, -- µs
	updated_at INTEGER NOT NULL  -- µs
) STRICT;
CREATE INDEX memories_open ON memories (scope, person, session_id, id) WHERE kind IN ('fact', 'question') AND state IN ('pending', 'active');
CREATE INDEX memories_person ON memories (person) WHERE person <> '';
CREATE INDEX memories_session ON memories (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX memories_turn ON memories (turn_id) WHERE turn_id IS NOT NULL;

CREATE TABLE deliveries (
	id              INTEGER PRIMARY KEY AUTOINCREMENT,
	message_id      INTEGER NOT NULL REFERENCES messages (id),
	conversation_id INTEGER NOT NULL REFERENCES conversations (id),
	channel         TEXT NOT NULL,
	seq             INTEGER CHECK (seq IS NOT NULL OR state IN ('draft', 'dropped')), -- the order within the conversation; NULL: a draft
	part            INTEGER NOT NULL,
	last            INTEGER NOT NULL,
	text            TEXT NOT NULL,
	rich            TEXT, -- JSON in the adapter's own shape
	extra           TEXT, -- JSON: files and buttons; NULL: none
	reply_to        TEXT NOT NULL DEFAULT '',
	nonce           TEXT NOT NULL, -- made of random bits
	noted           TEXT NOT NULL DEFAULT '', -- what the adapter noted with its latest send, in its own words
	state           TEXT NOT NULL CHECK (state IN ('draft', 'pending', 'sending', 'sent', 'unknown', 'dead', 'dropped')),
	settled         INTEGER NOT NULL DEFAULT FALSE, -- it blocks its conversation no longer
	outcome         TEXT NOT NULL DEFAULT '',
	detail          TEXT NOT NULL DEFAULT '',
	draft           TEXT NOT NULL DEFAULT '' CHECK (draft IN ('', 'open', 'begun', 'shown', 'leave')), -- how far the showing of a draft has come
	platform_id     TEXT NOT NULL DEFAULT '',
	repeated        INTEGER NOT NULL DEFAULT FALSE,
	tries           INTEGER NOT NULL DEFAULT 0,
	fence           INTEGER NOT NULL DEFAULT 0, -- of the holder that began the latest send
	next_at         INTEGER NOT NULL DEFAULT 0, -- µs, not before
	first_try       INTEGER NOT NULL DEFAULT 0, -- µs
	last_try        INTEGER NOT NULL DEFAULT 0, -- µs
	created_at      INTEGER NOT NULL, -- µs
	updated_at      INTEGER NOT NULL, -- µs
	UNIQUE (conversation_id, seq)
) STRICT;
CREATE INDEX deliveries_open ON deliveries (channel, conversation_id, seq) WHERE settled = FALSE;
CREATE INDEX deliveries_drafts ON deliveries (channel, id) WHERE draft <> '';
CREATE INDEX deliveries_message ON deliveries (message_id, part);

-- What waits for a person's decision, or did. One of a tool that was allowed for more than once is a grant.
CREATE TABLE approvals (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	kind       TEXT NOT NULL CHECK (kind IN ('tool', 'pairing', 'link')),
	state      TEXT NOT NULL CHECK (state IN ('proposed', 'accepted', 'rejected', 'expired', 'cancelled')),
	person     TEXT NOT NULL DEFAULT '', -- whose wish it is; empty: a stranger's
	session_id INTEGER REFERENCES sessions (id), -- where it was wished; NULL: it is gone, or a stranger's
	turn_id    INTEGER REFERENCES turns (id), -- kind tool; NULL: it is kept no more
	attempt    INTEGER NOT NULL DEFAULT 0,
	position   INTEGER NOT NULL DEFAULT 0,
	tool       TEXT NOT NULL DEFAULT '', -- kind tool: its name
	shown      TEXT NOT NULL DEFAULT '', -- kind tool: the command, or the arguments, as they were shown and will run
	hash       BLOB, -- kind tool: of what was shown
	rule       TEXT NOT NULL DEFAULT '', -- by which it asks
	taint      TEXT NOT NULL DEFAULT '', -- of the turn as it asked
	scope      TEXT NOT NULL DEFAULT '' CHECK (scope IN ('', 'once', 'session', 'always')), -- accepted: what it was allowed for
	decided_by TEXT NOT NULL DEFAULT '',
	why        TEXT NOT NULL DEFAULT '', -- in the words of who decided
	channel    TEXT NOT NULL DEFAULT '', -- other kinds: where it was wished
	identity   TEXT NOT NULL DEFAULT '', -- other kinds: who is to be let in, or to become person
	data       TEXT NOT NULL DEFAULT '{}', -- JSON; other kinds
	created_at INTEGER NOT NULL, -- µs
	expires_at INTEGER NOT NULL, -- µs
	decided_at INTEGER, -- µs
	used_at    INTEGER, -- µs, when its task was set running
	revoked_at INTEGER  -- µs, when a grant was taken back
) STRICT;
CREATE INDEX approvals_open ON approvals (expires_at) WHERE state = 'proposed';
CREATE INDEX approvals_turn ON approvals (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX approvals_people ON approvals (kind, channel, created_at) WHERE channel <> '';
CREATE INDEX approvals_identity ON approvals (identity) WHERE identity <> '';
CREATE INDEX approvals_session ON approvals (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX approvals_grants ON approvals (person, hash) WHERE scope IN ('session', 'always') AND revoked_at IS NULL;

CREATE TABLE actions (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	code       BLOB NOT NULL UNIQUE, -- hash of the button's or code's text
	kind       TEXT NOT NULL CHECK (kind IN ('approval', 'snooze', 'choice', 'claim', 'pairing', 'link')),
	state      TEXT NOT NULL CHECK (state IN ('proposed', 'accepted', 'rejected', 'expired', 'cancelled')),
	outcome    TEXT NOT NULL DEFAULT '',
	person     TEXT NOT NULL DEFAULT '', -- who may use it; kind link: who made it; empty: see kind
	session_id INTEGER REFERENCES sessions (id),
	turn_id    INTEGER REFERENCES turns (id),
	message_id INTEGER REFERENCES messages (id),
	approval_id INTEGER REFERENCES approvals (id), -- kinds approval and pairing
	text       TEXT NOT NULL DEFAULT '', -- kind choice: what it says
	number     INTEGER NOT NULL DEFAULT 0,  -- kind choice: its place from 1, by which it can be typed
	data       TEXT NOT NULL DEFAULT '{}', -- JSON
	used_by    TEXT NOT NULL DEFAULT '',
	created_at INTEGER NOT NULL, -- µs
	expires_at INTEGER NOT NULL, -- µs
	used_at    INTEGER           -- µs
) STRICT;
CREATE INDEX actions_open ON actions (session_id, message_id) WHERE state = 'proposed';
CREATE INDEX actions_session ON actions (session_id);
CREATE INDEX actions_message ON actions (message_id);
CREATE INDEX actions_turn ON actions (turn_id);
CREATE INDEX actions_links ON actions (person) WHERE kind = 'link';
CREATE INDEX actions_approval ON actions (approval_id) WHERE approval_id IS NOT NULL;

CREATE TABLE events (
	session_id INTEGER NOT NULL REFERENCES sessions (id),
	n          INTEGER NOT NULL, -- grows by one within a session
	kind       TEXT NOT NULL CHECK (kind IN ('message', 'turn', 'plan', 'task', 'review', 'approval', 'delivery', 'session')),
	turn_id    INTEGER,
	message_id INTEGER, -- kind message: where the text is
	data       TEXT NOT NULL DEFAULT '', -- JSON, at most 2 KB
	created_at INTEGER NOT NULL, -- µs
	PRIMARY KEY (session_id, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX events_message ON events (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE settings_versions (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	person     TEXT NOT NULL DEFAULT '',
	reason     TEXT NOT NULL DEFAULT '',
	changes    TEXT NOT NULL, -- JSON
	created_at INTEGER NOT NULL -- µs
) STRICT;

CREATE TABLE audit (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	person     TEXT NOT NULL DEFAULT '',
	action     TEXT NOT NULL,
	target     TEXT NOT NULL DEFAULT '',
	rule       TEXT NOT NULL DEFAULT '',
	outcome    TEXT NOT NULL DEFAULT '',
	data       TEXT NOT NULL DEFAULT '{}', -- JSON
	session_id INTEGER,
	turn_id    INTEGER,
	chain      BLOB, -- hash over the former row and this one
	created_at INTEGER NOT NULL -- µs
) STRICT;
CREATE INDEX audit_created ON audit (created_at);
CREATE INDEX audit_turn ON audit (turn_id) WHERE turn_id IS NOT NULL;
