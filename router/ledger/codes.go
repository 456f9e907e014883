package ledger

import "crypto/sha256"

// HashCode is under what an action's code is stored, so that the database does not
// hold what presses a button.
func HashCode(code string) []byte {
	sum := sha256.Sum256([]byte("action:" + code))
	return sum[:]
}
