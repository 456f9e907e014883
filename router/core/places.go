package core

import (
	"fmt"
	"strings"

	"switchboard/channels"
	"switchboard/internal/words"
)

// A Session is what a session has of its own; what is empty is as the settings, or the
// person, say.
type Session struct {
	Mode, Model, Language, TimeZone string
	Private                         bool // it neither learns nor is recalled
}

// A Chat is a conversation that has a session and is open to us.
type Chat struct {
	channels.Conversation
	Person string // of a direct chat: who wrote there last
	// Identity is the one under which they did; empty: no message of theirs is kept.
	Identity string
}

// SessionKey is the key of the session of a conversation.
func SessionKey(c channels.Conversation) string { return c.Channel + ":" + string(c.ID) }

// console is the channel of the terminal, which every engine has.
const console = "console"

// ChatWords names a conversation, of which no more than its key may be known, to somebody who reads it in here.
func ChatWords(c, here channels.Conversation) string {
	switch {
	case SessionKey(c) == SessionKey(here):
		return "this chat"
	case c.Channel == console:
		return "the terminal"
	case c.Kind == channels.Group && c.Title != "":
		return fmt.Sprintf("the group “%s” on %s", words.OneLine(words.Visible(c.Title), 60), c.Channel)
	case c.Kind == channels.Direct:
		return "a direct chat on " + c.Channel
	}
	return "a chat on " + c.Channel
}

// OfSession is the conversation of a session's key, of which no more is known.
func OfSession(key string) channels.Conversation {
	channel, id, _ := strings.Cut(key, ":")
	return channels.Conversation{Channel: channel, ID: channels.ConversationID(id)}
}
