ALTER TABLE memories ADD COLUMN asked_turn INTEGER; -- of a question: names the turn that put it
