package outbox

import (
	"fmt"

	"switchboard/internal/words"
)

// became says what became of a part.
func (d *Info) Became() string {
	text := fmt.Sprintf("part %d (delivery %d): %s", d.Part+1, d.ID, words.Ended(d.State, d.Outcome))
	if d.Tries > 1 {
		text += fmt.Sprintf(" after %d tries", d.Tries)
	}
	if d.Repeated {
		text += ", marked as a repeat"
	}
	if d.Detail != "" && d.State != string(DeliverySent) {
		text += ": " + words.OneLine(d.Detail, 300)
	}
	return text
}
