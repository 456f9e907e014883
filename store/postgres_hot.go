package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// The hot transactions on PostgreSQL are functions of the database, one round
// trip each; docs/decisions/0001-hot-transactions.md says why.
const (
	callAccept = `SELECT sb_accept($1, $2, $3)`
	callSteps  = `SELECT sb_steps($1)`
	callClaim  = `SELECT sb_claim($1, $2, $3, $4, $5)`
	callBegin  = `SELECT sb_begin($1, $2, $3, $4)`
	callSettle = `SELECT sb_settles($1)`
)

// call runs one function as one transaction and decodes its JSON into out.
func (db *DB) call(ctx context.Context, mode durability, op string, out any, query string, args ...any) error {
	var answer []byte
	err := db.pg.detached(ctx, db.pg.pool(mode), func(ctx context.Context, conn *sqlx.Conn) error {
		return conn.QueryRowContext(ctx, query, args...).Scan(&answer)
	})
	if err == nil {
		err = json.Unmarshal(answer, out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, explain(err))
	}
	return nil
}
