-- For clients that send a whole conversation with each call: what they have the session heed, and of which session it is a branch.
ALTER TABLE sessions ADD COLUMN instructions TEXT NOT NULL DEFAULT ''; -- under ours
ALTER TABLE sessions ADD COLUMN branch_of INTEGER; -- names sessions, which may be gone; NULL: of none
CREATE INDEX sessions_branches ON sessions (branch_of) WHERE branch_of IS NOT NULL;

-- Calls that are answered with what a turn says, by which a repeated one is known.
CREATE TABLE chat_calls (
	key          BLOB PRIMARY KEY, -- a hash of the token, the session's name and the body
	generation   INTEGER NOT NULL, -- how often an equal call was a new one before
	conversation TEXT NOT NULL, -- where it is answered
	heard        INTEGER NOT NULL DEFAULT FALSE, -- somebody got the answer whole
	created_at   INTEGER NOT NULL -- µs
) STRICT;
CREATE INDEX chat_calls_created ON chat_calls (created_at);
