-- Who was named in the settings and is not: nobody is let in by this, and what is theirs waits.
CREATE TABLE people_away (
	name       TEXT PRIMARY KEY,
	role       TEXT NOT NULL CHECK (role IN ('admin', 'user')),
	tools      TEXT NOT NULL, -- JSON list of patterns
	identities TEXT NOT NULL, -- JSON list of {"identity", "linked"}: by one of these they are known again
	created_at INTEGER NOT NULL, -- µs, when they were first known
	away_at    INTEGER NOT NULL, -- µs
	told       INTEGER NOT NULL DEFAULT FALSE -- the admins are notified
) STRICT;
