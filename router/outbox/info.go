package outbox

import "time"

// A Delivery is one part on its way out.
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
