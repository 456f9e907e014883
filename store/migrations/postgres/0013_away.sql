-- Who was named in the settings and is not: nobody is let in by this, and what is theirs waits.
CREATE TABLE people_away (
	name       text PRIMARY KEY,
	role       text NOT NULL CHECK (role IN ('admin', 'user')),
	tools      text NOT NULL, -- JSON list of patterns
	identities text NOT NULL, -- JSON list of {"identity", "linked"}: by one of these they are known again
	created_at bigint NOT NULL, -- µs, when they were first known
	away_at    bigint NOT NULL, -- µs
	told       boolean NOT NULL DEFAULT FALSE -- the admins are notified
);
