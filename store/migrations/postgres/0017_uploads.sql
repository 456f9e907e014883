-- Files that come before the message they belong to, and what a program sends along with its own.
ALTER TABLE attachments ADD COLUMN uploader text NOT NULL DEFAULT ''; -- who brought it here before its message: local, token:NAME; empty: nobody
CREATE INDEX attachments_unused ON attachments (used_at) WHERE uploader <> '' AND message_id IS NULL AND state <> 'gone';
ALTER TABLE messages ADD COLUMN metadata text; -- JSON; NULL: none
