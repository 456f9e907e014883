-- A browser that an API token signed in ends with it.
ALTER TABLE browsers ADD COLUMN token bytea; -- SHA-256 of the token's secret; NULL: none did
