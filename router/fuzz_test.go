package router_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/internal/testkit"
	"switchboard/router/core"
	"switchboard/store/storetest"
)

// FuzzAccept hands in whatever an adapter might make of what it cannot read well,
// twice and beside a good message: nothing is refused, since a refused batch would
// come again for ever, and the good message is answered once.
func FuzzAccept(f *testing.F) {
	f.Add(uint8(0), "k", "cada", "cada", uint8(0), "ada", "Ada", "hello", "m1", "m0", "quoted", int64(1), []byte(nil), false)
	f.Add(uint8(1), "k\x00", "c\xff", "", uint8(1), "ada", "\x00", "/cancel", "m1", "", "", int64(-1), []byte("{\x00}"), true)
	f.Add(uint8(2), "", "", "", uint8(2), "", "", "", "", "", "", int64(1)<<62, []byte{0xff, 0}, false)
	f.Add(uint8(3), "k", "c", "p", uint8(3), "bob", "b", "/as nobody \u202e", "m1", "m1", "q\xc0", int64(0), []byte("raw"), true)
	f.Add(uint8(5), "a", "cada", "cada", uint8(0), "ada", "Ada", "code", "m1", "", "+1", int64(1), []byte(nil), false)
	f.Add(uint8(6), "b", "cbob", "cada", uint8(1), "mallory", "M", "/claim 1", "m1", "", "joined", int64(1), []byte(nil), true)
	f.Add(uint8(7), "c", "cnew", "cnew", uint8(1), "ada", "Ada", "cada", "m1", "", "cada", int64(1), []byte(nil), true)
	r := newRig(f, storetest.SQLite(f))
	r.People = append(r.People, core.Person{Name: "carol", Role: core.RoleUser, Identities: []string{"scripted:carol"}, Tools: []string{"*"}, Source: "config"})
	r.Config.QueuePerSession, r.Log = 1_000_000, io.Discard
	r.Start()
	kinds := []channels.EventKind{
		channels.EventMessage, channels.EventEdited, channels.EventDeleted, channels.EventUndecodable,
		channels.EventReaction, channels.EventAction, channels.EventMember, channels.EventMoved, "", "of no kind",
	}
	places := []channels.ConversationKind{channels.Direct, channels.Group, channels.Thread, "", "of no kind"}
	n := 0
	f.Fuzz(func(t *testing.T, kind uint8, key, conv, place string, placeKind uint8, sender, label, text, id, to, extra string, at int64, raw []byte, on bool) {
		n++
		odd := channels.Event{
			Key: channels.EventKey(key), Kind: kinds[int(kind)%len(kinds)],
			Conversation: channels.Conversation{
				Channel: "play", ID: channels.ConversationID(conv), Kind: places[int(placeKind)%len(places)], Place: place, Title: label,
			},
			Sender: channels.Sender{ID: sender, Label: label, Bot: on && len(text)%2 == 0, Team: extra},
			Message: channels.Message{
				ID: channels.MessageID(id), Text: text, ReplyTo: channels.MessageID(to), Quote: extra,
				Forwarded: on, Origin: label, Mentioned: on, Mentions: []channels.Mention{{ID: id, Label: label}},
			},
			Action:   channels.Action{Code: text, MessageID: channels.MessageID(id)},
			Reaction: channels.Reaction{MessageID: channels.MessageID(id), Added: []string{extra}, Removed: []string{text}},
			Member:   channels.Membership(extra), Former: channels.ConversationID(to),
			At: time.UnixMicro(at), Raw: raw, Reason: label,
		}
		if on {
			odd.Message.Attachments = []channels.Attachment{{ID: id, Name: text, Type: label, Size: at}}
		}
		good := channels.Event{
			Key: channels.EventKey(fmt.Sprint("good ", n)), Kind: channels.EventMessage,
			Conversation: channels.Conversation{Channel: "play", ID: "cgood", Kind: channels.Direct, Place: "cgood"},
			Sender:       channels.Sender{ID: "carol", Label: "Carol"},
			Message:      channels.Message{ID: channels.MessageID(fmt.Sprint("good ", n)), Text: fmt.Sprint("number ", n)},
		}
		for range 2 {
			receipts, err := r.Router.Accept(t.Context(), []channels.Event{odd, good, odd})
			if err != nil || len(receipts) != 3 {
				t.Fatalf("%d receipts, %v", len(receipts), err)
			}
		}
		testkit.Await(t, "the message beside it is answered", 10*time.Second, func() bool { return r.Brain.Ran(good.Message.Text) > 0 })
		if ran := r.Brain.Ran(good.Message.Text); ran != 1 {
			t.Fatalf("the message beside it ran %d times", ran)
		}
	})
}
