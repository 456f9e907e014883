-- Its message called a tool by name: it is never merged with another.
ALTER TABLE turns ADD COLUMN ordered INTEGER NOT NULL DEFAULT FALSE;
