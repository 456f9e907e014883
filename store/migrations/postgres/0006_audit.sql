-- Segments of the audit log are sealed by hash; docs/decisions/0026-sealed-audit.md says what the hashes cover.
ALTER TABLE audit DROP COLUMN chain;
ALTER TABLE audit ADD COLUMN why text NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN cost double precision NOT NULL DEFAULT 0; -- in the currency of [budget]
CREATE INDEX audit_person ON audit (person, id) WHERE person <> '';

CREATE TABLE audit_segments (
	id        bigint PRIMARY KEY, -- from 1, without a gap
	hour      bigint NOT NULL, -- µs, the hour that was over as it was sealed
	first_id  bigint NOT NULL, -- of the rows in it: all up to last_id; one that came later has a higher number
	last_id   bigint NOT NULL,
	row_count bigint NOT NULL,
	digest    bytea NOT NULL, -- hash of its rows
	previous  bytea NOT NULL, -- hash of the segment before; empty: it is the first
	hash      bytea NOT NULL, -- of all the columns above, and sealed_at
	sealed_at bigint NOT NULL, -- µs
	pruned    boolean NOT NULL DEFAULT FALSE -- its rows and all before it were cleared away; only the last such is kept
);

-- Whether the row stands in the audit log: a turn that has ended, a message of class stranger.
ALTER TABLE turns ADD COLUMN audited boolean NOT NULL DEFAULT FALSE;
ALTER TABLE messages ADD COLUMN audited boolean NOT NULL DEFAULT FALSE;
CREATE INDEX messages_unaudited ON messages (id) WHERE class = 'stranger' AND audited = FALSE;
