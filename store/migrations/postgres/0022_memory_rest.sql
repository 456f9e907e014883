-- What memory does while a session rests: how far it has come, and when it is tried again.
ALTER TABLE sessions
	ADD COLUMN restless boolean NOT NULL DEFAULT FALSE, -- something happened since all was done
	ADD COLUMN looked_to bigint NOT NULL DEFAULT 0, -- messages up to this one were looked at,
	ADD COLUMN summed_to bigint NOT NULL DEFAULT 0, -- are in the summary,
	ADD COLUMN indexed_to bigint NOT NULL DEFAULT 0, -- are found by their words;
	ADD COLUMN indexed_turn bigint NOT NULL DEFAULT 0, -- so is what turns up to this one brought
	ADD COLUMN rest_tries bigint NOT NULL DEFAULT 0, -- that failed one after the other
	ADD COLUMN rest_fault text NOT NULL DEFAULT '', -- why the last one did
	ADD COLUMN rest_after bigint NOT NULL DEFAULT 0; -- µs, when it is tried again
UPDATE sessions SET restless = TRUE, -- what was said before is found, and not looked at
	looked_to = coalesce((SELECT max(id) FROM messages WHERE session_id = sessions.id), 0),
	summed_to = coalesce((SELECT max(id) FROM messages WHERE session_id = sessions.id), 0);
CREATE INDEX sessions_restless ON sessions (rest_after) WHERE restless = TRUE;
ALTER TABLE memories ADD COLUMN aged_at bigint NOT NULL DEFAULT 0; -- µs, until when it lost confidence by age; 0: it did not
CREATE INDEX memories_always ON memories (id) WHERE always = TRUE;
CREATE INDEX memories_learned ON memories (session_id, id) WHERE kind = 'learning' AND state = 'pending';

-- How often a model was asked for the sake of a person's memory.
CREATE TABLE memory_days (
	person text NOT NULL,
	day    text NOT NULL, -- YYYY-MM-DD, as money is counted
	calls  bigint NOT NULL,
	PRIMARY KEY (person, day)
);
-- Up to which fact those of a scope were consolidated.
CREATE TABLE memory_scopes (
	scope     text PRIMARY KEY,
	merged_to bigint NOT NULL -- names memories
);
ALTER TABLE leases DROP CONSTRAINT leases_kind_check, ADD CONSTRAINT leases_kind_check CHECK (kind IN ('session', 'channel', 'run', 'memory'));
