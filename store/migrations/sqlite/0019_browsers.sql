-- Browsers that are signed in to the page.
CREATE TABLE browsers (
	id         INTEGER PRIMARY KEY,
	hash       BLOB NOT NULL UNIQUE, -- SHA-256 of the secret in its cookie, which is not kept
	person     TEXT NOT NULL,
	about      TEXT NOT NULL, -- what it calls itself; outside text
	created_at INTEGER NOT NULL, -- µs, as all of these
	used_at    INTEGER NOT NULL, -- to an hour
	expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX browsers_person ON browsers (person);

-- What opens the page once, for a person: the secret of a link, or a code.
CREATE TABLE signins (
	hash       BLOB PRIMARY KEY, -- SHA-256 of it
	person     TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT;

-- How far a person has read a session, and whether they keep it on top.
CREATE TABLE readings (
	person     TEXT NOT NULL,
	session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	event      INTEGER NOT NULL DEFAULT 0,
	pinned     INTEGER NOT NULL DEFAULT FALSE,
	PRIMARY KEY (person, session_id)
) STRICT;
