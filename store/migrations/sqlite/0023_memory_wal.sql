-- What happened to memories, for those who keep a copy: which memory was written or deleted, numbered without gaps. What it says stands
-- in its own row alone, so that nothing that is forgotten or erased is left here.
CREATE TABLE memory_log (
	id     INTEGER PRIMARY KEY CHECK (id = 1), -- one row, which each writer locks last of all
	name   TEXT NOT NULL, -- whose numbers these are
	n      INTEGER NOT NULL, -- of the newest record when old ones were last cleared away
	handed INTEGER NOT NULL -- of the newest one that was given away
) STRICT;
INSERT INTO memory_log (id, name, n, handed) VALUES (1, lower(hex(randomblob(16))), 0, 0);
CREATE TABLE memory_wal (
	n      INTEGER PRIMARY KEY,
	memory INTEGER NOT NULL, -- 0: of erased
	erased TEXT NOT NULL DEFAULT '', -- the hash of the name of whom all is to be deleted
	at     INTEGER NOT NULL -- µs
) STRICT;
-- Whose memory this one is a copy of; no row: it is its own.
CREATE TABLE memory_copy (
	id      INTEGER PRIMARY KEY CHECK (id = 1),
	log     TEXT NOT NULL,
	n       INTEGER NOT NULL, -- records up to this one are in it
	come_to INTEGER NOT NULL -- of a snapshot, up to this memory; -1: it is whole
) STRICT;

-- What only waits to be looked at is no memory yet. When it was last used, and where, is nobody else's.
CREATE TRIGGER memories_insert AFTER INSERT ON memories WHEN new.state <> 'pending' BEGIN
	INSERT INTO memory_wal (n, memory, at)
	SELECT max(l.n, coalesce((SELECT max(w.n) FROM memory_wal w), 0)) + 1, new.id, CAST(unixepoch('subsec') * 1000000 AS INTEGER) FROM memory_log l;
END;
CREATE TRIGGER memories_update AFTER UPDATE ON memories WHEN new.state <> 'pending' AND
	(new.kind, new.scope, new.category, new.key, new.text, new.state, new.outcome, new.person, new.source, new.confidence, new.taint, new.kept, new.always,
		new.superseded_by, new.created_at, new.updated_at, new.expires_at, new.aged_at) IS NOT
	(old.kind, old.scope, old.category, old.key, old.text, old.state, old.outcome, old.person, old.source, old.confidence, old.taint, old.kept, old.always,
		old.superseded_by, old.created_at, old.updated_at, old.expires_at, old.aged_at)
BEGIN
	INSERT INTO memory_wal (n, memory, at)
	SELECT max(l.n, coalesce((SELECT max(w.n) FROM memory_wal w), 0)) + 1, new.id, CAST(unixepoch('subsec') * 1000000 AS INTEGER) FROM memory_log l;
END;
CREATE TRIGGER memories_delete AFTER DELETE ON memories WHEN old.state <> 'pending' BEGIN
	INSERT INTO memory_wal (n, memory, at)
	SELECT max(l.n, coalesce((SELECT max(w.n) FROM memory_wal w), 0)) + 1, old.id, CAST(unixepoch('subsec') * 1000000 AS INTEGER) FROM memory_log l;
END;
-- A copy learns nothing by itself: the numbers of its memories are another's.
CREATE TRIGGER memories_copied BEFORE INSERT ON memories WHEN new.state = 'pending' AND EXISTS (SELECT 1 FROM memory_copy) BEGIN
	SELECT RAISE(IGNORE);
END;
