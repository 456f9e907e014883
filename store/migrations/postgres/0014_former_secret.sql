-- While a secret that was set in a chat of the channel that uses it waits to be confirmed.
ALTER TABLE secrets ADD COLUMN former bytea; -- what it was before, age; NULL: nothing waits
