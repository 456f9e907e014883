package console

// The calls under /console/ on the engine's socket.
const (
	// PathMessages takes a postCall and answers with a receipt.
	PathMessages = "/console/messages"
	// PathEvents streams channels.SessionEvent, one JSON object a line, until the
	// client leaves or the engine stops. Query: session, person, and after=N for
	// the events after number N; without after, those from now on. With until=N the
	// stream ends behind number N, or behind the last event there is. With live=1 there
	// come events of kind delta too, without a number: see delta.
	PathEvents = "/console/events"
)

type postCall struct {
	Session string `json:"session"`
	Person  string `json:"person"`
	Text    string `json:"text"`
	// Key makes a repeated call harmless; empty: the message is a new one.
	Key string `json:"key,omitempty"`
}

// receipt is channels.Receipt for clients.
type receipt struct {
	MessageID int64  `json:"message_id,string,omitempty"`
	TurnID    int64  `json:"turn_id,string,omitempty"`
	Event     int64  `json:"event"`
	Duplicate bool   `json:"duplicate"`
	Rejected  string `json:"rejected,omitempty"`
}

// fault is the body of an answer that is no success.
type fault struct {
	Error string `json:"error"`
}
