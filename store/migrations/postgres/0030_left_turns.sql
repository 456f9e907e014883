-- What is answered to what was said in private, or to who had the chat before, stays there, however late it comes.
ALTER TABLE sessions ADD COLUMN left_turn bigint NOT NULL DEFAULT 0; -- of turns up to this one nothing is learned or summed up
