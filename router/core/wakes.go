package core

import (
	"cmp"
	"context"

	"switchboard/channels"
)

// Wakes tells the engines on one database of each other's commits. It only wakes:
// whatever it says is in the database too, and polls find it when a wake is lost.
type Wakes interface {
	// Wake tells the other engines, after the commit. It never blocks.
	Wake(w Wake)
	// Listen hands what other engines tell to hear, one at a time, until ctx ends.
	// When something may have been missed it says WakeAll.
	Listen(ctx context.Context, hear func(Wake))
}

// A WakeKind says what to look at.
type WakeKind string

const (
	WakeAll      WakeKind = "all"      // anything: look at everything
	WakeTurn     WakeKind = "turn"     // a turn of Channel (empty: of some channel) waits for an engine
	WakeStop     WakeKind = "stop"     // turn Turn is asked to stop, or to begin again
	WakeEdit     WakeKind = "edit"     // a message of turn Turn was changed
	WakeDelivery WakeKind = "delivery" // something is to be sent or shown in Channel, Conversation (empty: look at all)
	WakeDraft    WakeKind = "draft"    // what is shown beside messages in Channel, Conversation changed
	WakeTyping   WakeKind = "typing"   // an answer is being made in Channel, Conversation
	WakePeople   WakeKind = "people"   // somebody was added, changed or removed
	WakeSettings WakeKind = "settings" // a secret was set, or a setting
	WakeJobs     WakeKind = "jobs"     // a job was made or changed
	WakeDecided  WakeKind = "decided"  // approval Approval is not open any more: its buttons go
	WakeEvents   WakeKind = "events"   // clients that read Channel, Conversation find something new
	WakeActive   WakeKind = "active"   // something happened, for those who show how the program is
)

// A Wake names what to look at: a conversation without its title, which may be long.
type Wake struct {
	Kind         WakeKind                  `json:"k"`
	Channel      string                    `json:"c,omitempty"`
	Conversation channels.ConversationID   `json:"v,omitempty"`
	Among        channels.ConversationKind `json:"a,omitempty"` // the conversation's kind
	Place        string                    `json:"p,omitempty"` // and its place, where that is not its ID
	Turn         int64                     `json:"t,omitempty"`
	Approval     int64                     `json:"d,omitempty"`
}

// WakeAt is a wake of that kind for a conversation.
func WakeAt(kind WakeKind, conv channels.Conversation) Wake {
	w := Wake{Kind: kind, Channel: conv.Channel, Conversation: conv.ID, Among: conv.Kind, Place: conv.Place}
	if conv.Place == string(conv.ID) {
		w.Place = ""
	}
	return w
}

// At is the conversation; the zero ID is any of the channel.
func (w Wake) At() channels.Conversation {
	return channels.Conversation{
		Channel: w.Channel, ID: w.Conversation, Kind: w.Among, Place: cmp.Or(w.Place, string(w.Conversation)),
	}
}
