-- What can be found by what it means: of a row of recalled the vector that a model made of its text.
CREATE TABLE vectors (
	id          INTEGER PRIMARY KEY AUTOINCREMENT, -- grows with each that is made, also anew
	recalled_id INTEGER NOT NULL UNIQUE REFERENCES recalled (id) ON DELETE CASCADE,
	scope       TEXT NOT NULL, -- as of recalled
	model       TEXT NOT NULL, -- PROVIDER/NAME
	dimension   INTEGER NOT NULL, -- 0: the model takes no such text
	vector      BLOB NOT NULL -- of length 1: float32, little endian
) STRICT;
CREATE INDEX vectors_scope ON vectors (scope, model, dimension, id);
-- A vector is of one text in one scope.
CREATE TRIGGER recalled_vector AFTER UPDATE OF scope, words ON recalled WHEN old.scope <> new.scope OR old.words <> new.words BEGIN
	DELETE FROM vectors WHERE recalled_id = old.id;
END;
