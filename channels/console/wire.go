package console

import "net/url"

// The calls of a conversation.
const (
	// messagesPath takes a message and answers with a receipt. The key of the call makes a
	// repeated one harmless; without it the message is a new one.
	messagesPath = "/v1/messages"
	// eventsPattern streams channels.SessionEvent, one JSON object a line, until the
	// client leaves or the engine stops. Query: user, and after=N for the events after
	// number N; without after, those from now on. With until=N the stream ends behind
	// number N, or behind the last event there is. With live=1 there come events of kind
	// delta too, without a number: see delta.
	eventsPattern = "/v1/sessions/{id}/events"
)

// eventsPath is eventsPattern for one session.
func eventsPath(session string, query url.Values) string {
	return "/v1/sessions/" + url.PathEscape(session) + "/events?" + query.Encode()
}

// message is the body of a call of messagesPath.
type message struct {
	Session string `json:"session"`
	User    string `json:"user"`
	Content string `json:"content"`
}

// receipt is channels.Receipt for clients.
type receipt struct {
	MessageID int64  `json:"message_id,string,omitempty"`
	TurnID    int64  `json:"turn_id,string,omitempty"`
	Event     int64  `json:"event"`
	Duplicate bool   `json:"duplicate"`
	Rejected  string `json:"rejected,omitempty"`
}
