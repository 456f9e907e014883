-- Money that is in whole billionths of the currency of [budget] is an integer, so that sums are exact. A day is YYYY-MM-DD in
-- the time zone of [scheduler]. docs/decisions/0029-money.md.

-- A call whose cost is reserved stands here before it is made, and is open while reserved is not 0.
ALTER TABLE llm_calls ADD COLUMN day TEXT NOT NULL DEFAULT ''; -- by which it is counted
ALTER TABLE llm_calls ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0; -- billionths: the most that it can cost; 0: it is over
ALTER TABLE llm_calls ADD COLUMN lost INTEGER NOT NULL DEFAULT FALSE; -- nobody knows its answer: cost is what was reserved

-- What was spent of a day, in all, by a person, in a session: what limits are compared with.
CREATE TABLE spending (
	day      TEXT NOT NULL,
	scope    TEXT NOT NULL CHECK (scope IN ('day', 'person', 'session', 'run')),
	name     TEXT NOT NULL DEFAULT '', -- the person, the number of the session; scope day: empty
	settled  INTEGER NOT NULL, -- billionths
	reserved INTEGER NOT NULL, -- billionths
	PRIMARY KEY (day, scope, name)
) STRICT;

-- What was used of models by turns that stand in the audit log; it outlives them.
CREATE TABLE usage (
	day        TEXT NOT NULL,
	person     TEXT NOT NULL,
	model      TEXT NOT NULL, -- provider/model
	role       TEXT NOT NULL,
	calls      INTEGER NOT NULL,
	tokens_in  INTEGER NOT NULL,
	tokens_out INTEGER NOT NULL,
	cached     INTEGER NOT NULL, -- of tokens_in
	cost       REAL NOT NULL,
	PRIMARY KEY (day, person, model, role)
) STRICT;

UPDATE llm_calls SET day = date(created_at / 1000000, 'unixepoch');
INSERT INTO usage (day, person, model, role, calls, tokens_in, tokens_out, cached, cost)
SELECT c.day, t.person, c.provider || '/' || c.model, c.role, count(*), sum(c.tokens_in), sum(c.tokens_out), sum(c.cached), sum(c.cost)
FROM llm_calls c JOIN turns t ON t.id = c.turn_id WHERE t.audited = TRUE GROUP BY 1, 2, 3, 4;
