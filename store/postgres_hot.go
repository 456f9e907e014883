package store

// The hot transactions on PostgreSQL are functions of the database, one round
// trip each; docs/decisions/0001-hot-transactions.md says why.
const (
	callAccept = `SELECT sb_accept($1, $2, $3)`
	callSteps  = `SELECT sb_steps($1)`
	callClaim  = `SELECT sb_claim($1, $2, $3, $4, $5)`
	callBegin  = `SELECT sb_begin($1, $2, $3, $4)`
	callSettle = `SELECT sb_settles($1)`
)
