package store_test

import (
	"strconv"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/router/approvals"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/store"
	"switchboard/store/storetest"
)

// wishOf is what a stranger writes, with all that is rendered for it.
func wishOf(user, key string, now time.Time) intake.Entry {
	e := entry("s"+user, key, "let me in")
	e.Sender = intake.Sender{Identity: "tg:" + user, Rule: audit.RuleUnknown}
	e.Event.Sender = channels.Sender{ID: user}
	e.Intent = &people.PairingIntent{Identity: "tg:" + user, Request: &people.Request{
		Code: outbox.HashCode(key), ExpiresAt: now.Add(time.Hour), Accepted: *text("let in"),
		Questions: []outbox.Question{{
			Conversation: channels.Conversation{Channel: "tg", ID: "admin", Kind: channels.Direct},
			Reply:        outbox.Reply{Text: "may they?", Parts: text("may they?").Parts},
		}},
	}}
	e.Say = says(map[intake.Outcome]*outbox.Reply{people.PairingAsked: text("a code")})
	return e
}

// The database bounds what strangers wish, whichever engine asks; what is over goes in time.
func TestWishesOfStrangersAreFew(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := time.Now()
		db.SetNow(func() time.Time { return now })
		h := newHouse(t, db)
		key := 0
		wishes := func(user string, want intake.Outcome, full bool) {
			t.Helper()
			key++
			if a := h.Accept(wishOf(user, strconv.Itoa(key), now))[0]; a.Outcome != want || a.Full != full || a.SessionID != 0 || a.MessageID == 0 {
				t.Errorf("%s: %+v", user, a)
			}
			now = now.Add(time.Minute)
		}
		const asked = people.PairingAsked
		key++
		first := h.Accept(wishOf("1", "a", now), wishOf("2", "b", now)) // in one batch
		if first[0].Outcome != asked || first[1].Outcome != "" || !first[1].Full {
			t.Errorf("%+v", first)
		}
		now = now.Add(time.Minute)
		wishes("1", "", false) // has one open
		wishes("2", asked, false)
		wishes("3", asked, false)
		wishes("4", "", true)
		now = now.Add(time.Hour)
		wishes("1", asked, false) // all are too late
		h.wantCount(4, "SELECT count(*) FROM approvals")
		expired, _, err := h.Router.ExpireApprovals(h.Ctx)
		if err != nil || len(expired) != 3 {
			t.Errorf("%v expired: %v", expired, err)
		}
		now = now.Add(72 * time.Hour)
		if expired, _, err := h.Router.ExpireApprovals(h.Ctx); err != nil || len(expired) != 1 {
			t.Errorf("%v expired: %v", expired, err)
		}
		wishes("5", asked, false)
		h.wantCount(1, "SELECT count(*) FROM approvals")
		h.wantCount(1, "SELECT count(*) FROM actions")
		h.wantCount(0, "SELECT count(*) FROM events WHERE session_id = 0")
	})
}

func TestCodesThatMakeNoSenseAreRefused(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for name, as := range map[string]core.Intent{
			"a code that is empty":       &people.CodeIntent{Identity: "tg:1"},
			"a code for nobody":          &people.CodeIntent{Code: []byte("x")},
			"a code of an unknown kind":  &people.CodeIntent{Code: []byte("x"), Identity: "tg:1", Kind: "choice"},
			"a wish of nobody":           &people.PairingIntent{},
			"a wish of who is a person":  &people.PairingIntent{Identity: "tg:1"},
			"a decision that says maybe": &approvals.DecisionIntent{Code: []byte("x"), Does: "maybe"},
		} {
			e := entry("c", name, "x")
			e.Intent = as
			if _, err := h.Router.Accept(h.Ctx, h.owner(), []intake.Entry{e}); err == nil {
				t.Errorf("%s is accepted", name)
			}
		}
		h.wantCount(0, "SELECT count(*) FROM messages")
	})
}
