-- Nobody knows whether it arrived, nothing more is done about it, and its conversation was not told of that yet.
ALTER TABLE deliveries ADD COLUMN unnamed INTEGER NOT NULL DEFAULT FALSE;
CREATE INDEX deliveries_unnamed ON deliveries (channel, id) WHERE unnamed = TRUE;
