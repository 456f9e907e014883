package outbox

import (
	"fmt"
	"time"

	"switchboard/internal/words"
)

// An Info is one part on its way out.
type Info struct {
	ID           int64     `json:"id,string"`
	TurnID       int64     `json:"turn_id,string"`
	Channel      string    `json:"channel"`
	Conversation string    `json:"conversation"`
	State        string    `json:"state"`
	Outcome      string    `json:"outcome"`
	Detail       string    `json:"detail,omitempty"`
	Part         int       `json:"part"`
	Tries        int       `json:"tries"`
	Repeated     bool      `json:"repeated"`
	PlatformID   string    `json:"platform_id"`
	Text         string    `json:"text"`
	UpdatedAt    time.Time `json:"updated_at"`
}

// Became says what became of a part.
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
