package console

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"switchboard/channels"
)

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

// maxPerson bounds a person's name, in bytes.
const maxPerson = 128

// maxSession bounds a session's name.
const maxSession = 128

var sessionName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// conversationID makes the ID of person's conversation called session.
func conversationID(person, session string) (channels.ConversationID, error) {
	switch {
	case len(session) > maxSession || !sessionName.MatchString(session):
		return "", fmt.Errorf("session %.140q: use 1 to 128 letters, digits, dots, underscores or dashes", session)
	case person == "":
		return "", errors.New("person: name who is writing")
	case len(person) > maxPerson:
		return "", fmt.Errorf("person: the name is longer than %d bytes", maxPerson)
	case !utf8.ValidString(person) || strings.ContainsFunc(person, unicode.IsControl):
		return "", errors.New("person: the name has characters that cannot be shown")
	}
	return channels.ConversationID(person + "/" + session), nil
}
