package slack

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
)

// A ts names a message in its channel: seconds and microseconds.
//
// Source: https://docs.slack.dev/reference/events/message.
var tsShape = regexp.MustCompile(`^[0-9]{1,12}\.[0-9]{1,9}$`)

// idShape is what the IDs of channels, users and files look like.
var idShape = regexp.MustCompile(`^[A-Z][A-Z0-9]{1,30}$`)

// conversationID names a channel, or a thread in it by the ts of its first message:
// "CHANNEL" or "CHANNEL/TS".
func conversationID(channel, thread string) channels.ConversationID {
	if thread == "" {
		return channels.ConversationID(channel)
	}
	return channels.ConversationID(channel + "/" + thread)
}

// parseConversation is the reverse; thread is empty for a whole channel.
func parseConversation(id channels.ConversationID) (channel, thread string, err error) {
	channel, thread, inThread := strings.Cut(string(id), "/")
	if !idShape.MatchString(channel) || inThread && !tsShape.MatchString(thread) {
		return "", "", fmt.Errorf("%q is no conversation on Slack", id)
	}
	return channel, thread, nil
}

// isDirect says whether a channel is a direct conversation, by its ID.
//
// Source: https://docs.slack.dev/reference/objects/conversation-object.
func isDirect(channel string) bool { return strings.HasPrefix(channel, "D") }

// parseMessage checks the ID of a message; one that was sent as files and is not seen in
// its conversation yet is named by its first file.
func parseMessage(id channels.MessageID) (ts, file string, err error) {
	switch {
	case tsShape.MatchString(string(id)):
		return string(id), "", nil
	case strings.HasPrefix(string(id), "F") && idShape.MatchString(string(id)):
		return "", string(id), nil
	}
	return "", "", fmt.Errorf("%q is no message on Slack", id)
}

// onlyFor names what one person did or is shown that nobody else sees, a slash command say: "USER/WHAT".
func onlyFor(user, what string) channels.MessageID { return channels.MessageID(user + "/" + what) }

// readerOf is the reverse: who alone sees a message, and an answer to it; empty: everybody.
func readerOf(id channels.MessageID) string {
	user, _, only := strings.Cut(string(id), "/")
	if !only || !idShape.MatchString(user) {
		return ""
	}
	return user
}

// instant is the time of a ts; zero when it is none.
func instant(ts string) time.Time {
	seconds, rest, _ := strings.Cut(ts, ".")
	whole, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || whole <= 0 {
		return time.Time{}
	}
	micro, err := strconv.ParseInt((rest + "000000")[:6], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(whole, micro*1000).UTC()
}

// tsOf is the ts of a moment.
func tsOf(at time.Time) string {
	return fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000)
}

// newer is the later of two ts; either may be empty.
func newer(a, b string) string {
	if instant(b).After(instant(a)) {
		return b
	}
	return a
}
