package api

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The calls of a conversation.
const (
	// MessagesPath takes a Message and answers with a Receipt. The key of the call makes a repeated one harmless; without it
	// the message is a new one.
	MessagesPath = "/v1/messages"
	// EventsPattern streams the events of a session (channels.ReadEvents) until the client leaves or the engine stops. Query:
	// user, and after=N for the events after number N; without after, those from now on. With until=N the stream ends behind
	// number N, or behind the last event there is. With delta=0 texts that grow are left out.
	EventsPattern = "/v1/sessions/{id}/events"
	// AfterHeader is the header of the stream's answer with the number behind which it begins.
	AfterHeader = "X-After"
)

// EventsPath is EventsPattern for one session.
func EventsPath(session string, query url.Values) string {
	return "/v1/sessions/" + url.PathEscape(session) + "/events?" + query.Encode()
}

// A Message is the body of a call of MessagesPath.
type Message struct {
	Session string `json:"session"`
	User    string `json:"user"`
	Content string `json:"content"`
}

// A Receipt says what became of a message.
type Receipt struct {
	MessageID int64  `json:"message_id,string"`
	Session   string `json:"session"`
	TurnID    int64  `json:"turn_id,string,omitempty" doc:"The turn that answers; none: it was a command."`
	Event     int64  `json:"event,omitempty" doc:"Its number in the session's events."`
	Duplicate bool   `json:"duplicate,omitempty"` // its key was known; nothing was done
	Rejected  string `json:"rejected,omitempty" doc:"Why it was not taken."`
}

// MaxSession bounds a session's name, in bytes.
const MaxSession = 128

var sessionName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// CheckSession says what is wrong with the name of a session; nil: nothing is.
func CheckSession(name string) error {
	if len(name) > MaxSession || !sessionName.MatchString(name) || name == "." || name == ".." { // those are no part of a path
		return fmt.Errorf("session %.140q: use 1 to 128 letters, digits, dots, underscores or dashes, and not dots alone", name)
	}
	return nil
}

// maxPerson bounds a person's name, in bytes.
const maxPerson = 128

// CheckPerson says what is wrong with the name of a person; nil: nothing is.
func CheckPerson(name string) error {
	switch {
	case name == "":
		return errors.New("person: name who is writing")
	case len(name) > maxPerson:
		return fmt.Errorf("person: the name is longer than %d bytes", maxPerson)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("person: the name has characters that cannot be shown")
	}
	return nil
}
