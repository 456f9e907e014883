-- A search asks first which of its marks have anything.
DROP INDEX recalled_scope;
CREATE INDEX recalled_scope ON recalled (scope, mark);
