ALTER TABLE memories ADD COLUMN asked_turn bigint; -- of a question: names the turn that put it
