package telegram

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

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

// siblingKey is the key of another message in the conversation of one with key.
func siblingKey(key channels.EventKey, message channels.MessageID) channels.EventKey {
	return key[:strings.LastIndexByte(string(key), ':')+1] + channels.EventKey(message)
}

// editKey tells two edits of one second apart by what they say.
func editKey(bot string, e *channels.Event) channels.EventKey {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(e.Message.Text), e.Message.Text)
	for _, a := range e.Message.Attachments {
		fmt.Fprintf(h, ":%s", a.ID)
	}
	return wire.Key(bot, "edited", string(e.Conversation.ID), string(e.Message.ID), strconv.FormatInt(e.At.Unix(), 10), hex.EncodeToString(h.Sum(nil)[:8]))
}
