package discord

import (
	"net/url"
	"strings"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// The methods that are called, as the platform's pages name them.
const (
	opGateway     = "GET /gateway/bot"
	opMe          = "GET /users/@me"
	opApplication = "GET /applications/@me"
	opChannel     = "GET /channels/{channel}"
	opHistory     = "GET /channels/{channel}/messages"
	opMessage     = "GET /channels/{channel}/messages/{message}"
	opSend        = "POST /channels/{channel}/messages"
	opEdit        = "PATCH /channels/{channel}/messages/{message}"
	opDelete      = "DELETE /channels/{channel}/messages/{message}"
	opTyping      = "POST /channels/{channel}/typing"
	opReact       = "PUT /channels/{channel}/messages/{message}/reactions"
	opUnreact     = "DELETE /channels/{channel}/messages/{message}/reactions"
	opThread      = "POST /channels/{channel}/messages/{message}/threads"
	opRespond     = "POST /interactions/{interaction}/callback"
	opCommands    = "GET /applications/{application}/commands"
	opCommand     = "POST /applications/{application}/commands"
	opUncommand   = "DELETE /applications/{application}/commands/{command}"
)

// A route is one of the platform's methods about one channel, guild or webhook.
type route struct {
	op     string // "POST /channels/{channel}/messages"
	method string
	path   string // below the address of the API
	major  string // what it is about
}

// about is a route below a channel.
func about(op string, channel snowflake, below ...string) route {
	path := "/channels/" + channel.String()
	for _, part := range below {
		path += "/" + url.PathEscape(part)
	}
	method, _, _ := strings.Cut(op, " ")
	return route{op: op, method: method, path: path, major: channel.String()}
}

// here is the channel of a conversation, for op.
func here(op string, conv channels.Conversation) (snowflake, error) {
	id, err := parseConversation(conv.ID)
	return id, wire.Refuse(op, err)
}

// target is a message that a call names, and the channel that it stands in: what began a thread
// stands in the channel around it, under the thread's own number.
//
// Source: https://docs.discord.com/developers/resources/channel#start-thread-from-message.
func target(op string, conv channels.Conversation, id channels.MessageID) (channel, message snowflake, err error) {
	if channel, err = here(op, conv); err != nil {
		return 0, 0, err
	}
	message, err = parseMessage(id)
	if up := around(conv); message == channel && up != 0 {
		channel = up
	}
	return channel, message, wire.Refuse(op, err)
}

// around is the channel around a thread; 0: the conversation is none.
func around(conv channels.Conversation) snowflake {
	if conv.Kind != channels.Thread || conv.Place == string(conv.ID) {
		return 0
	}
	up, err := parseConversation(channels.ConversationID(conv.Place))
	if err != nil {
		return 0
	}
	return up
}
