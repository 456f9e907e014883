package database

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// readFunctions reads which script made the functions that the database has: the body
// of sb_script, which says so, see recordOf.
const readFunctions = `SELECT coalesce((SELECT prosrc FROM pg_proc WHERE proname = 'sb_script'
	AND pronamespace = CAST(current_schema() AS regnamespace)), '')`

// dropOthers drops the functions that this transaction did not make.
const dropOthers = `DO $$
DECLARE
	v_name regprocedure;
BEGIN
	FOR v_name IN SELECT oid FROM pg_proc WHERE proname LIKE 'sb\_%' AND pronamespace = CAST(current_schema() AS regnamespace)
		AND xmin <> CAST(pg_current_xact_id() AS xid)
	LOOP
		EXECUTE 'DROP FUNCTION ' || v_name;
	END LOOP;
END $$`

// recordOf is the body of a function that returns the hash of script.
func recordOf(script string) string {
	return fmt.Sprintf("SELECT '%x'", sha256.Sum256([]byte(script)))
}

// hasFunctions says whether the database's functions are those of script.
func hasFunctions(ctx context.Context, pool *sqlx.DB, script string) (bool, error) {
	var has string
	err := pool.GetContext(ctx, &has, readFunctions)
	return has == recordOf(script), err
}

// replaceFunctions runs script in one transaction. Functions are replaced, not
// dropped, where they can be: an engine may be calling them.
func replaceFunctions(ctx context.Context, pool *sqlx.DB, script string) error {
	t, err := pool.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }()
	for _, s := range []string{
		script,
		`CREATE OR REPLACE FUNCTION sb_script() RETURNS text LANGUAGE sql IMMUTABLE AS $$` + recordOf(script) + `$$`,
		dropOthers,
	} {
		if _, err := t.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("functions of the database: %w", err)
		}
	}
	return t.Commit()
}
