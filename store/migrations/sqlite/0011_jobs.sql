-- Work that nobody types: docs/decisions/0032-jobs-and-runs.md. Instants are slots of a job where that is said.
CREATE TABLE jobs (
	id              INTEGER PRIMARY KEY AUTOINCREMENT,
	owner           TEXT NOT NULL, -- a person; empty: the program itself
	name            TEXT NOT NULL DEFAULT '',
	payload         TEXT NOT NULL CHECK (payload IN ('notify', 'agent', 'heartbeat', 'send', 'maintenance')),
	text            TEXT NOT NULL DEFAULT '',
	spec            TEXT NOT NULL, -- JSON
	rules           TEXT NOT NULL, -- JSON
	conversation_id INTEGER REFERENCES conversations (id), -- where it speaks; NULL: nowhere
	taint           TEXT NOT NULL DEFAULT '',
	state           TEXT NOT NULL CHECK (state IN ('active', 'paused', 'disabled', 'done', 'removed')),
	reason          TEXT NOT NULL DEFAULT '',
	slot            INTEGER NOT NULL DEFAULT 0, -- µs, the next; 0: none is left
	due_at          INTEGER NOT NULL DEFAULT 0, -- µs, slot and its jitter
	version         INTEGER NOT NULL DEFAULT 1,
	runs            INTEGER NOT NULL DEFAULT 0, -- slots that ran, or are due
	failures        INTEGER NOT NULL DEFAULT 0, -- in a row
	seen            TEXT NOT NULL DEFAULT '', -- what a heartbeat saw last
	created_at      INTEGER NOT NULL, -- µs
	updated_at      INTEGER NOT NULL -- µs
) STRICT;
CREATE INDEX jobs_due ON jobs (due_at) WHERE state = 'active' AND due_at > 0;
CREATE INDEX jobs_owner ON jobs (owner, id);
CREATE INDEX jobs_conversation ON jobs (conversation_id) WHERE conversation_id IS NOT NULL;
CREATE INDEX jobs_over ON jobs (updated_at) WHERE state <> 'active';
CREATE UNIQUE INDEX jobs_own ON jobs (name) WHERE owner = ''; -- the program's

CREATE TABLE runs (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	job_id      INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	slot        INTEGER NOT NULL, -- µs; of a stretch that was missed its first
	last_slot   INTEGER NOT NULL DEFAULT 0, -- µs, missed: the last of the stretch
	slots       INTEGER NOT NULL DEFAULT 1, -- missed: how many
	try         INTEGER NOT NULL DEFAULT 1,
	state       TEXT NOT NULL CHECK (state IN ('due', 'running', 'done', 'failed', 'missed', 'skipped')),
	reason      TEXT NOT NULL DEFAULT '',
	start_at    INTEGER NOT NULL DEFAULT 0, -- µs, due: not before
	beside      INTEGER NOT NULL DEFAULT FALSE, -- it runs beside former runs of its job, and else after them
	engine      INTEGER, -- the owner row of who works on it, where there is no turn
	turn_id     INTEGER, -- of the last try; NULL: none. It may be gone
	message_id  INTEGER, -- the same of what it said without a turn
	told        INTEGER NOT NULL DEFAULT FALSE, -- missed: its owner was told
	calls       INTEGER NOT NULL DEFAULT 0, -- of all tries, as are the next three
	tokens_in   INTEGER NOT NULL DEFAULT 0,
	tokens_out  INTEGER NOT NULL DEFAULT 0,
	cost        REAL NOT NULL DEFAULT 0,
	created_at  INTEGER NOT NULL, -- µs, when it was claimed
	started_at  INTEGER, -- µs, the first try
	finished_at INTEGER, -- µs
	UNIQUE (job_id, slot)
) STRICT;
CREATE INDEX runs_job ON runs (job_id, id);
CREATE INDEX runs_due ON runs (start_at) WHERE state = 'due';
CREATE INDEX runs_running ON runs (id) WHERE state = 'running';
CREATE INDEX runs_open ON runs (job_id) WHERE state IN ('due', 'running');
CREATE INDEX runs_untold ON runs (id) WHERE state = 'missed' AND told = FALSE;
CREATE INDEX runs_turn ON runs (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX runs_finished ON runs (finished_at) WHERE finished_at IS NOT NULL;

-- What jobs told their owners, until they have read it.
CREATE TABLE notifications (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	person     TEXT NOT NULL,
	job_id     INTEGER, -- it may be gone, as may the run
	run_id     INTEGER,
	text       TEXT NOT NULL,
	taint      TEXT NOT NULL DEFAULT '',
	created_at INTEGER NOT NULL, -- µs
	read_at    INTEGER -- µs; NULL: unread
) STRICT;
CREATE INDEX notifications_person ON notifications (person, id);
CREATE INDEX notifications_created ON notifications (created_at);

-- What narrows a turn that nobody typed, JSON; NULL: nothing does.
ALTER TABLE turns ADD COLUMN terms TEXT;
