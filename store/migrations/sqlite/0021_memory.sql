-- What is remembered: of each memory whose it is, where it came from, and what became of it.
CREATE TABLE remembered (
	id            INTEGER PRIMARY KEY AUTOINCREMENT,
	kind          TEXT NOT NULL CHECK (kind IN ('fact', 'preference', 'rule', 'question', 'learning')),
	scope         TEXT NOT NULL, -- where it surfaces: global, person:NAME, group:CHANNEL:PLACE, session:ID
	category      TEXT NOT NULL DEFAULT '', -- of a preference or rule
	key           TEXT NOT NULL DEFAULT '', -- of a preference: one of each in a scope, person and category
	text          TEXT NOT NULL,
	state         TEXT NOT NULL CHECK (state IN ('pending', 'active', 'promoted', 'discarded', 'answered', 'superseded', 'archived', 'forgotten')),
	outcome       TEXT NOT NULL DEFAULT '', -- why it was discarded, or forgotten
	person        TEXT NOT NULL DEFAULT '', -- who said it; empty: nobody we know
	session_id    INTEGER REFERENCES sessions (id), -- where; NULL: in none, or in one that is gone
	turn_id       INTEGER REFERENCES turns (id),
	source        TEXT NOT NULL DEFAULT '', -- how: said, command, review, rest, curator, answer, merge, import
	confidence    REAL NOT NULL DEFAULT 1,
	taint         TEXT NOT NULL DEFAULT '',
	kept          INTEGER NOT NULL DEFAULT FALSE, -- a person asked for it, wrote or confirmed it: it does not age
	always        INTEGER NOT NULL DEFAULT FALSE, -- a rule that stands in every prompt
	superseded_by INTEGER, -- the memory in its place
	created_at    INTEGER NOT NULL, -- µs, as all of these
	updated_at    INTEGER NOT NULL,
	used_at       INTEGER NOT NULL DEFAULT 0, -- when it last stood in a prompt; 0: never
	expires_at    INTEGER NOT NULL DEFAULT 0 -- 0: never
) STRICT;
INSERT INTO remembered (id, kind, scope, text, state, outcome, person, session_id, turn_id, source, confidence, taint, created_at, updated_at)
SELECT id, kind, CASE scope WHEN 'person' THEN 'person:' || person WHEN 'session' THEN 'session:' || session_id ELSE 'global' END,
	text, state, outcome, CASE WHEN kind = 'learning' AND person = '' THEN coalesce((SELECT t.person FROM turns t WHERE t.id = memories.turn_id), '') ELSE person END,
	session_id, turn_id, source, confidence, taint, created_at, updated_at FROM memories;
DROP TABLE memories;
ALTER TABLE remembered RENAME TO memories;
CREATE INDEX memories_scope ON memories (scope, state, kind, id);
CREATE UNIQUE INDEX memories_preference ON memories (scope, person, category, key) WHERE kind = 'preference' AND state = 'active';
CREATE INDEX memories_over ON memories (updated_at) WHERE state IN ('promoted', 'discarded', 'answered', 'superseded', 'forgotten');
CREATE INDEX memories_expires ON memories (expires_at) WHERE expires_at > 0 AND state = 'active';
CREATE INDEX memories_pending ON memories (id) WHERE kind = 'learning' AND state = 'pending';
CREATE INDEX memories_person ON memories (person) WHERE person <> '';
CREATE INDEX memories_session ON memories (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX memories_turn ON memories (turn_id) WHERE turn_id IS NOT NULL;

-- private, of a session: it neither learns nor is recalled ('on').
ALTER TABLE sessions ADD COLUMN private TEXT NOT NULL DEFAULT '';

-- What a person set of what is remembered of them; no row: all as the settings say.
CREATE TABLE memory_settings (
	person       TEXT PRIMARY KEY,
	learning     INTEGER NOT NULL DEFAULT TRUE, -- FALSE: nothing is learned of what they say
	recall       INTEGER NOT NULL DEFAULT TRUE, -- FALSE: nothing that is remembered stands in their prompts
	expire_after INTEGER NOT NULL DEFAULT 0, -- µs; 0: as the settings say
	denied       TEXT NOT NULL DEFAULT '[]', -- categories that are not remembered, besides those of the settings
	updated_at   INTEGER NOT NULL -- µs
) STRICT;

-- What can be found again by its words: memories, what people wrote, summaries, what tools brought.
CREATE TABLE recalled (
	id         INTEGER PRIMARY KEY,
	kind       TEXT NOT NULL CHECK (kind IN ('memory', 'message', 'summary', 'result')),
	ref        INTEGER NOT NULL, -- of memories, messages or sessions, by kind; of a result, of turns
	attempt    INTEGER NOT NULL DEFAULT 0, -- with position, of a result's task
	position   INTEGER NOT NULL DEFAULT 0,
	scope      TEXT NOT NULL, -- as of memories
	session_id INTEGER REFERENCES sessions (id), -- NULL: of none
	taint      TEXT NOT NULL DEFAULT '',
	said_at    INTEGER NOT NULL, -- µs
	mark       TEXT NOT NULL, -- of the scope: it stands before each word in the index, whose lists so are those of one scope
	words      TEXT NOT NULL, -- folded, stemmed and in trigrams
	UNIQUE (kind, ref, attempt, position)
) STRICT;
CREATE INDEX recalled_scope ON recalled (scope, id);
CREATE INDEX recalled_session ON recalled (session_id) WHERE session_id IS NOT NULL;
CREATE VIRTUAL TABLE recalled_words USING fts5 (
	words, content = 'recalled', content_rowid = 'id', detail = 'none', columnsize = 0,
	tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* Co Cn'"
);
INSERT INTO recalled_words (recalled_words, rank) VALUES ('secure-delete', 1), ('automerge', 2), ('crisismerge', 4), ('pgsz', 1000);
CREATE TRIGGER recalled_insert AFTER INSERT ON recalled BEGIN
	INSERT INTO recalled_words (rowid, words) VALUES (new.id, new.mark || replace(new.words, ' ', ' ' || new.mark));
END;
CREATE TRIGGER recalled_delete AFTER DELETE ON recalled BEGIN
	INSERT INTO recalled_words (recalled_words, rowid, words) VALUES ('delete', old.id, old.mark || replace(old.words, ' ', ' ' || old.mark));
END;
CREATE TRIGGER recalled_update AFTER UPDATE OF mark, words ON recalled BEGIN
	INSERT INTO recalled_words (recalled_words, rowid, words) VALUES ('delete', old.id, old.mark || replace(old.words, ' ', ' ' || old.mark));
	INSERT INTO recalled_words (rowid, words) VALUES (new.id, new.mark || replace(new.words, ' ', ' ' || new.mark));
END;
