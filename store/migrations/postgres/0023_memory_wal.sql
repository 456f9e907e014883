-- What happened to memories, for those who keep a copy: which memory was written or deleted, numbered without gaps. What it says stands
-- in its own row alone, so that nothing that is forgotten or erased is left here.
CREATE TABLE memory_log (
	id     bigint PRIMARY KEY CHECK (id = 1), -- one row, which each writer locks last of all
	name   text NOT NULL, -- whose numbers these are
	n      bigint NOT NULL, -- of the newest record when old ones were last cleared away
	handed bigint NOT NULL -- of the newest one that was given away
);
INSERT INTO memory_log (id, name, n, handed) VALUES (1, replace(CAST(gen_random_uuid() AS text), '-', ''), 0, 0);
CREATE TABLE memory_wal (
	n      bigint PRIMARY KEY,
	memory bigint NOT NULL, -- 0: of erased
	erased text NOT NULL DEFAULT '', -- the hash of the name of whom all is to be deleted
	at     bigint NOT NULL -- µs
);
-- Whose memory this one is a copy of; no row: it is its own.
CREATE TABLE memory_copy (
	id      bigint PRIMARY KEY CHECK (id = 1),
	log     text NOT NULL,
	n       bigint NOT NULL, -- records up to this one are in it
	come_to bigint NOT NULL -- of a snapshot, up to this memory; -1: it is whole
);

-- The triggers are deferred: a number is taken, and its lock with it, when the transaction commits and has every other lock. The row that is
-- locked is not changed: each of many records of one transaction would go through all that it was before.
CREATE FUNCTION memory_written() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	v_n bigint;
BEGIN
	SELECT n INTO v_n FROM memory_log FOR UPDATE;
	INSERT INTO memory_wal (n, memory, at)
	SELECT greatest(v_n, max(w.n)) + 1, CASE WHEN TG_OP = 'DELETE' THEN OLD.id ELSE NEW.id END, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)
	FROM memory_wal w;
	RETURN NULL;
END $$;
-- What only waits to be looked at is no memory yet. When it was last used, and where, is nobody else's.
CREATE CONSTRAINT TRIGGER memories_insert AFTER INSERT ON memories DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW WHEN (NEW.state <> 'pending') EXECUTE FUNCTION memory_written();
CREATE CONSTRAINT TRIGGER memories_update AFTER UPDATE ON memories DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW WHEN (NEW.state <> 'pending' AND
		(NEW.kind, NEW.scope, NEW.category, NEW.key, NEW.text, NEW.state, NEW.outcome, NEW.person, NEW.source, NEW.confidence, NEW.taint, NEW.kept, NEW.always,
			NEW.superseded_by, NEW.created_at, NEW.updated_at, NEW.expires_at, NEW.aged_at) IS DISTINCT FROM
		(OLD.kind, OLD.scope, OLD.category, OLD.key, OLD.text, OLD.state, OLD.outcome, OLD.person, OLD.source, OLD.confidence, OLD.taint, OLD.kept, OLD.always,
			OLD.superseded_by, OLD.created_at, OLD.updated_at, OLD.expires_at, OLD.aged_at)) EXECUTE FUNCTION memory_written();
CREATE CONSTRAINT TRIGGER memories_delete AFTER DELETE ON memories DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW WHEN (OLD.state <> 'pending') EXECUTE FUNCTION memory_written();
-- A copy learns nothing by itself: the numbers of its memories are another's.
CREATE FUNCTION memory_copied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM memory_copy) THEN
		RETURN NULL;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER memories_copied BEFORE INSERT ON memories FOR EACH ROW WHEN (NEW.state = 'pending') EXECUTE FUNCTION memory_copied();
