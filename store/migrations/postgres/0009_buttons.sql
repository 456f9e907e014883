-- Kind command: the button gives the command that text has, as if person had typed it.
ALTER TABLE actions DROP CONSTRAINT actions_kind_check;
ALTER TABLE actions ADD CONSTRAINT actions_kind_check
	CHECK (kind IN ('approval', 'snooze', 'choice', 'command', 'claim', 'pairing', 'link'));
