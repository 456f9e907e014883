-- A search asks first which of its marks have rows.
CREATE INDEX recalled_mark ON recalled (scope, mark);
DROP INDEX recalled_scope;
