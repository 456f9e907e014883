package storetest

import (
	"time"

	"switchboard/store"
)

// Day is 24 hours.
const Day = 24 * time.Hour

// KeepADay keeps what is over for a day.
var KeepADay = store.Retention{Turns: Day, Strangers: Day, Prompts: Day, Audit: Day, Sessions: 300 * Day}

// Later makes our clock and the database's so much later; engines that live have renewed.
func (h *House) Later(by time.Duration) {
	h.Helper()
	h.DB.Now = func() time.Time { return time.Now().Add(by) }
	if h.DB.Kind() == "postgres" {
		ServerClock(h, h.DB, by)
		Exec(h, h.DB, "UPDATE owners SET renewed_at = sb_clock(), expires_at = sb_clock() + 15000000 WHERE state = 'alive' AND declared_at IS NULL")
	}
}

// Sweep clears away what is older than keep says, and returns how many rows.
func (h *House) Sweep(keep store.Retention) int64 {
	h.Helper()
	n, err := h.DB.Retain(h.Ctx, h.Owner(), keep)
	if err != nil {
		h.Fatal(err)
	}
	return n
}
