package discord

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
)

// A snowflake is one of the platform's numbers. Newer ones are larger.
//
// Source: https://docs.discord.com/developers/reference#snowflakes.
type snowflake uint64

// epoch is where snowflakes begin, in Unix milliseconds.
const epoch = 1_420_070_400_000

func (n snowflake) String() string { return strconv.FormatUint(uint64(n), 10) }

// at is when n was made.
func (n snowflake) at() time.Time { return time.UnixMilli(int64(n>>22) + epoch).UTC() } //nolint:gosec // 42 bits

// since is the least snowflake of a time.
func since(t time.Time) snowflake { return snowflake(max(t.UnixMilli()-epoch, 0)) << 22 } //nolint:gosec // not negative

// UnmarshalText reads a number in quotes, as the platform writes them.
func (n *snowflake) UnmarshalText(text []byte) error {
	v, err := strconv.ParseUint(string(text), 10, 63)
	if err != nil || v == 0 {
		return errors.New("it is no snowflake")
	}
	*n = snowflake(v)
	return nil
}

// conversationID names a channel, a thread or a direct chat: all of them are channels there.
func conversationID(channel snowflake) channels.ConversationID {
	return channels.ConversationID(channel.String())
}

// parseConversation is the reverse.
func parseConversation(id channels.ConversationID) (snowflake, error) {
	return number(string(id), "conversation")
}

func number(text, what string) (n snowflake, err error) {
	if n.UnmarshalText([]byte(text)) != nil {
		err = fmt.Errorf("%q is no %s on Discord", text, what)
	}
	return n, err
}

// messageID names a message.
func messageID(id snowflake) channels.MessageID { return channels.MessageID(id.String()) }

// parseMessage is the reverse of messageID.
func parseMessage(id channels.MessageID) (snowflake, error) { return number(string(id), "message") }

// nonceOf is a part's nonce as the platform takes it, which has at most 25 characters.
//
// Source: https://docs.discord.com/developers/resources/message#create-message.
func nonceOf(nonce string) string {
	sum := sha256.Sum256([]byte(nonce))
	return hex.EncodeToString(sum[:12])
}

// A spot is what a mark says: up to which message a channel's history was taken and where the
// gateway's session stood, so that it can be resumed even by another process. Those of direct
// chats begin with an @.
type spot struct {
	channel, message snowflake
	direct           bool
	seq              int64 // 0: no session
	session, url     string
	alive            snowflake // since when something may have been missed in direct chats without a mark
	owed             bool      // there were gaps then
}

// mark is the spot as a mark.
func (s spot) mark() channels.Mark {
	value := s.message.String()
	if s.direct {
		value = "@" + value
	}
	return channels.Mark{Conversation: conversationID(s.channel), Value: value}
}

// parseMark is the reverse.
func parseMark(m channels.Mark) (s spot, err error) {
	if s.channel, err = parseConversation(m.Conversation); err != nil {
		return s, err
	}
	value, session, _ := strings.Cut(m.Value, " ")
	value, s.direct = strings.CutPrefix(value, "@")
	if err := s.message.UnmarshalText([]byte(value)); err != nil {
		return s, fmt.Errorf("%q is no mark on Discord", m.Value)
	}
	if parts := strings.Fields(session); len(parts) == 4 {
		s.session, s.url = parts[1], parts[2]
		s.seq, _ = strconv.ParseInt(parts[0], 10, 64)
		parts[3], s.owed = strings.CutSuffix(parts[3], "+")
		_ = s.alive.UnmarshalText([]byte(parts[3]))
	}
	return s, nil
}
