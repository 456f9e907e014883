-- What memory does while a session rests: how far it has come, and when it is tried again.
ALTER TABLE sessions ADD COLUMN restless INTEGER NOT NULL DEFAULT FALSE; -- something happened since all was done
ALTER TABLE sessions ADD COLUMN looked_to INTEGER NOT NULL DEFAULT 0; -- messages up to this one were looked at,
ALTER TABLE sessions ADD COLUMN summed_to INTEGER NOT NULL DEFAULT 0; -- are in the summary,
ALTER TABLE sessions ADD COLUMN indexed_to INTEGER NOT NULL DEFAULT 0; -- are found by their words;
ALTER TABLE sessions ADD COLUMN indexed_turn INTEGER NOT NULL DEFAULT 0; -- so is what turns up to this one brought
ALTER TABLE sessions ADD COLUMN rest_tries INTEGER NOT NULL DEFAULT 0; -- that failed one after the other
ALTER TABLE sessions ADD COLUMN rest_fault TEXT NOT NULL DEFAULT ''; -- why the last one did
ALTER TABLE sessions ADD COLUMN rest_after INTEGER NOT NULL DEFAULT 0; -- µs, when it is tried again
UPDATE sessions SET restless = TRUE, -- what was said before is found, and not looked at
	looked_to = coalesce((SELECT max(id) FROM messages WHERE session_id = sessions.id), 0),
	summed_to = coalesce((SELECT max(id) FROM messages WHERE session_id = sessions.id), 0);
CREATE INDEX sessions_restless ON sessions (rest_after) WHERE restless = TRUE;
ALTER TABLE memories ADD COLUMN aged_at INTEGER NOT NULL DEFAULT 0; -- µs, until when it lost confidence by age; 0: it did not
CREATE INDEX memories_always ON memories (id) WHERE always = TRUE;
CREATE INDEX memories_learned ON memories (session_id, id) WHERE kind = 'learning' AND state = 'pending';

-- How often a model was asked for the sake of a person's memory.
CREATE TABLE memory_days (
	person TEXT NOT NULL,
	day    TEXT NOT NULL, -- YYYY-MM-DD, as money is counted
	calls  INTEGER NOT NULL,
	PRIMARY KEY (person, day)
) STRICT, WITHOUT ROWID;
-- Up to which fact those of a scope were consolidated.
CREATE TABLE memory_scopes (
	scope     TEXT PRIMARY KEY,
	merged_to INTEGER NOT NULL -- names memories
) STRICT, WITHOUT ROWID;

-- Kind memory: the work at rest for a person. A CHECK changes only with its table.
CREATE TABLE leases_anew (
	kind     TEXT NOT NULL CHECK (kind IN ('session', 'channel', 'run', 'memory')),
	name     TEXT NOT NULL,
	owner    INTEGER REFERENCES owners (id), -- NULL: free
	fence    INTEGER NOT NULL,               -- grows at every take
	taken_at INTEGER NOT NULL,               -- µs
	PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
INSERT INTO leases_anew (kind, name, owner, fence, taken_at) SELECT kind, name, owner, fence, taken_at FROM leases;
DROP TABLE leases;
ALTER TABLE leases_anew RENAME TO leases;
