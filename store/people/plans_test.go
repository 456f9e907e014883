package people_test

import (
	"testing"

	"switchboard/store/people"
	"switchboard/store/storetest"
)

// Who was told is forgotten by an index, however many were.
func TestWhoWasToldIsForgottenByIndex(t *testing.T) {
	each(t, func(_ *testing.T, h *house) {
		h.WholeTurn("c", "1")
		h.WantNoScans(map[string]string{"told": storetest.Literal(people.DeleteTold, "'a'")})
	})
}
