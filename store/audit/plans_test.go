package audit_test

import (
	"testing"

	"switchboard/store/audit"
)

// What is to be sealed is found by an index, however much was.
func TestWhatIsToBeSealedIsFoundByIndex(t *testing.T) {
	each(t, func(_ *testing.T, h *house) {
		h.WholeTurn("c", "1")
		h.WantNoScans(map[string]string{"to seal": audit.OlderAudit})
	})
}
