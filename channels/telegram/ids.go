package telegram

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// conversationID names a chat, or a topic in it: "CHAT" or "CHAT/TOPIC".
func conversationID(chat int64, topic int) channels.ConversationID {
	id := strconv.FormatInt(chat, 10)
	if topic != 0 {
		id += "/" + strconv.Itoa(topic)
	}
	return channels.ConversationID(id)
}

// parseConversation is the reverse; topic is 0 for a whole chat.
func parseConversation(id channels.ConversationID) (chat int64, topic int, err error) {
	place, thread, inTopic := strings.Cut(string(id), "/")
	if chat, err = strconv.ParseInt(place, 10, 64); err == nil && inTopic {
		topic, err = strconv.Atoi(thread)
	}
	if err != nil || chat == 0 || inTopic && topic <= 0 {
		return 0, 0, fmt.Errorf("%q is no conversation on Telegram", id)
	}
	return chat, topic, nil
}

// messageID names a message in its chat.
func messageID(id int) channels.MessageID { return channels.MessageID(strconv.Itoa(id)) }

// parseMessage is the reverse.
func parseMessage(id channels.MessageID) (int, error) {
	n, err := strconv.Atoi(string(id))
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is no message on Telegram", id)
	}
	return n, nil
}

// The keys of events begin with the bot's ID, the kind and the conversation. Nothing
// in them holds a colon but the end, so two different things never share one.

func messageKey(bot int64, conv channels.ConversationID, message int) channels.EventKey {
	return channels.EventKey(fmt.Sprintf("%d:message:%s:%d", bot, conv, message))
}

// siblingKey is the key of another message in the conversation of one with key.
func siblingKey(key channels.EventKey, message channels.MessageID) channels.EventKey {
	return key[:strings.LastIndexByte(string(key), ':')+1] + channels.EventKey(message)
}

// editKey tells two edits of one second apart by what they say.
func editKey(bot int64, conv channels.ConversationID, message channels.MessageID, at time.Time, m channels.Message) channels.EventKey {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(m.Text), m.Text)
	for _, a := range m.Attachments {
		fmt.Fprintf(h, ":%s", a.ID)
	}
	return channels.EventKey(fmt.Sprintf("%d:edited:%s:%s:%d:%s", bot, conv, message, at.Unix(), hex.EncodeToString(h.Sum(nil)[:8])))
}

func actionKey(bot int64, conv channels.ConversationID, message int, query string) channels.EventKey {
	return channels.EventKey(fmt.Sprintf("%d:action:%s:%d:%s", bot, conv, message, query))
}

func reactionKey(bot int64, conv channels.ConversationID, message int, update int64) channels.EventKey {
	return channels.EventKey(fmt.Sprintf("%d:reaction:%s:%d:%d", bot, conv, message, update))
}

func memberKey(bot int64, conv channels.ConversationID, update int64) channels.EventKey {
	return channels.EventKey(fmt.Sprintf("%d:member:%s:%d", bot, conv, update))
}

// movedKey is the same for each of the ways the platform tells it: in the old chat,
// in the new one, and in its answer to a call.
func movedKey(bot, from, to int64) channels.EventKey {
	return channels.EventKey(fmt.Sprintf("%d:moved:%d:%d", bot, from, to))
}

// undecodableKey names an update by its number, or by its bytes where that cannot be
// read either (update 0).
func undecodableKey(bot, update int64, raw []byte) channels.EventKey {
	if update == 0 {
		return channels.EventKey(fmt.Sprintf("%d:bytes:%s", bot, wire.Fingerprint(raw)))
	}
	return channels.EventKey(fmt.Sprintf("%d:update:%d", bot, update))
}
