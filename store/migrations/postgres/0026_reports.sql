-- What strangers write in groups is told in a model's words, where the channel's settings want it.
ALTER TABLE messages ADD COLUMN report text; -- of class stranger: what it says, in those words; NULL: nothing was made of it, empty: it was taken back
ALTER TABLE sessions ADD COLUMN reported_to bigint NOT NULL DEFAULT 0; -- strangers' messages there up to this one were gone through
CREATE INDEX messages_reported ON messages (conversation_id, id) WHERE report IS NOT NULL;
DROP INDEX messages_unserved;
CREATE INDEX messages_unserved ON messages (conversation_id, class, id) WHERE session_id IS NULL;
