package console

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"switchboard/channels"
)

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
