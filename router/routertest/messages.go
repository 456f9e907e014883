package routertest

import (
	"fmt"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
)

// TooLate is said of an edit of what was answered.
const TooLate = "I had answered that before you changed it. If you want another answer, write it again, or reply /retry to it."

// HandIn hands a batch in as an adapter does, and says how many became turns.
func (r *Rig) HandIn(batch []channels.Event) (turns int) {
	r.T.Helper()
	for tries := 0; ; tries++ {
		receipts, err := r.Router.Accept(r.T.Context(), batch)
		if err != nil && tries < 10 {
			continue
		} else if err != nil {
			r.T.Fatal(err)
		}
		for _, receipt := range receipts {
			if receipt.TurnID != 0 {
				turns++
			}
		}
		return turns
	}
}

// Event is the nth message of a test, written by user in the direct conversation conv.
func Event(n int, conv, user, text string) channels.Event {
	return channels.Event{
		Key: channels.EventKey(fmt.Sprintf("k%d", n)), Kind: channels.EventMessage,
		Conversation: channels.Conversation{Channel: "play", ID: channels.ConversationID(conv), Kind: channels.Direct, Place: conv},
		Sender:       channels.Sender{ID: user, Label: user},
		Message:      channels.Message{ID: channels.MessageID(fmt.Sprintf("m%d", n)), Text: text},
		At:           time.Now(),
	}
}

// OldMessage is what user wrote in conv so long ago, as the platform says.
func OldMessage(conv, user, text string, ago time.Duration) scripted.Message {
	return scripted.Message{Conversation: conv, User: user, Text: text, At: time.Now().Add(-ago)}
}
