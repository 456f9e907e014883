package store_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"switchboard/channels"
	"switchboard/router"
	"switchboard/store"
	"switchboard/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.AtOnce(8) // they wait for owners to expire, and for servers that are away
	goleak.VerifyTestMain(m)
}

// house is a database with an engine and the router's view.
type house struct {
	*testing.T
	db     *store.DB
	r      *store.Router
	engine *store.Engine
	ctx    context.Context
}

func newHouse(t *testing.T, db *store.DB) *house {
	t.Helper()
	e, err := db.StartEngine(t.Context())
	if err != nil {
		t.Fatalf("start engine: %v", err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Errorf("close engine: %v", err)
		}
	})
	return &house{T: t, db: db, r: db.Router(), engine: e, ctx: t.Context()}
}

func (h *house) owner() int64 { return h.engine.ID() }

// entry is a turn entry on channel "tg", conversation conv.
func entry(conv, key, text string) router.Entry {
	sum := sha256.Sum256([]byte("tg:" + key))
	return router.Entry{
		Key: sum[:], Sender: router.Sender{Identity: "tg:1", Person: "marco"}, Origin: "chat", As: &router.AsTurn{QueueLimit: 50},
		Event: channels.Event{
			Key: channels.EventKey(key), Kind: channels.EventMessage,
			Conversation: channels.Conversation{Channel: "tg", ID: channels.ConversationID(conv), Kind: channels.Direct, Place: conv},
			Sender:       channels.Sender{ID: "1", Label: "Marco P."},
			Message:      channels.Message{ID: channels.MessageID("m" + key), Text: text},
			At:           time.Unix(1700000000, 0),
		},
	}
}

func claiming(e router.Entry) router.Entry {
	e.Turn().MayClaim = true
	return e
}

func control(e router.Entry, effect router.Effect, reply string) router.Entry {
	as := &router.AsControl{Effect: effect}
	if e.As = as; effect == router.EffectCancel {
		e.Replies = map[router.Situation]*router.Reply{router.SituationIdle: text(reply), router.SituationDropped: text("dropped")}
	} else {
		as.Reply = text(reply)
	}
	return e
}

// limited is e where so many turns may wait.
func limited(e router.Entry, turns int) router.Entry {
	e.Turn().QueueLimit = turns
	e.Replies = map[router.Situation]*router.Reply{router.SituationBusy: text("full")}
	return e
}

func text(s string) *router.Reply {
	return &router.Reply{Text: s, Parts: []channels.Body{{Text: s}}, Notice: true}
}

// accept accepts entries and fails the test on an error.
func (h *house) accept(entries ...router.Entry) []router.Accepted {
	h.Helper()
	out, err := h.r.Accept(h.ctx, h.owner(), entries)
	if err != nil {
		h.Fatalf("accept: %v", err)
	}
	return out
}

// begun accepts one entry and returns its running turn.
func (h *house) begun(conv, key string) router.TurnRef {
	h.Helper()
	a := h.accept(claiming(entry(conv, key, "hello "+key)))[0]
	if a.Claimed == nil {
		h.Fatalf("turn of %s was not claimed: %+v", key, a)
	}
	return a.Claimed.TurnRef
}

// random is a text that does not compress.
func random(n int) string {
	var b strings.Builder
	for x := uint64(1); b.Len() < n; {
		x = x*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&b, "%x", x)
	}
	return b.String()
}

func nameOf(id int64) string { return strconv.FormatInt(id, 10) }
