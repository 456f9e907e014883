package scripted

import (
	"fmt"

	"switchboard/channels"
)

// messageKey names a message. The lengths keep two different pairs apart.
func messageKey(account, conversation, id string) channels.EventKey {
	return channels.EventKey(fmt.Sprintf("%s:message:%d:%s:%s", account, len(conversation), conversation, id))
}

// updateKey names an event that could not be read.
func updateKey(account string, event int64) channels.EventKey {
	return channels.EventKey(fmt.Sprintf("%s:update:%d", account, event))
}
