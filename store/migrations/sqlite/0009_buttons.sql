-- Kind command: the button gives the command that text has, as if person had typed it. A CHECK changes
-- only with its table.
CREATE TABLE actions_anew (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	code       BLOB NOT NULL UNIQUE, -- hash of the button's or code's text
	kind       TEXT NOT NULL CHECK (kind IN ('approval', 'snooze', 'choice', 'command', 'claim', 'pairing', 'link')),
	state      TEXT NOT NULL CHECK (state IN ('proposed', 'accepted', 'rejected', 'expired', 'cancelled')),
	outcome    TEXT NOT NULL DEFAULT '',
	person     TEXT NOT NULL DEFAULT '', -- who may use it; kind link: who made it; empty: see kind
	session_id INTEGER REFERENCES sessions (id),
	turn_id    INTEGER REFERENCES turns (id),
	message_id INTEGER REFERENCES messages (id),
	approval_id INTEGER REFERENCES approvals (id), -- kinds approval and pairing
	text       TEXT NOT NULL DEFAULT '', -- kind choice: what it says; kind command: the command
	number     INTEGER NOT NULL DEFAULT 0,  -- kind choice: its place from 1, by which it can be typed
	data       TEXT NOT NULL DEFAULT '{}', -- JSON
	used_by    TEXT NOT NULL DEFAULT '',
	created_at INTEGER NOT NULL, -- µs
	expires_at INTEGER NOT NULL, -- µs
	used_at    INTEGER           -- µs
) STRICT;
INSERT INTO actions_anew (id, code, kind, state, outcome, person, session_id, turn_id, message_id, approval_id, text, number, data, used_by, created_at, expires_at, used_at)
	SELECT id, code, kind, state, outcome, person, session_id, turn_id, message_id, approval_id, text, number, data, used_by, created_at, expires_at, used_at
	FROM actions;
DROP TABLE actions;
ALTER TABLE actions_anew RENAME TO actions;
CREATE INDEX actions_open ON actions (session_id, message_id) WHERE state = 'proposed';
CREATE INDEX actions_session ON actions (session_id);
CREATE INDEX actions_message ON actions (message_id);
CREATE INDEX actions_turn ON actions (turn_id);
CREATE INDEX actions_links ON actions (person) WHERE kind = 'link';
CREATE INDEX actions_approval ON actions (approval_id) WHERE approval_id IS NOT NULL;
