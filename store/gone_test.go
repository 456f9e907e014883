package store_test

import (
	"errors"
	"fmt"
	"testing"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

func member(conv, key string, m channels.Membership) intake.Entry {
	e := entry(conv, "member"+key, "")
	e.Intent, e.Event.Kind, e.Event.Member, e.Event.Message = &intake.NewsIntent{}, channels.EventMember, m, channels.Message{}
	return e
}

func (h *house) gone(hold outbox.Lease, conv channels.ConversationID) bool {
	h.Helper()
	first, err := h.Router.Gone(h.Ctx, hold, channels.Conversation{ID: conv})
	if err != nil {
		h.Fatalf("gone: %v", err)
	}
	return first
}

func TestClosedConversationIsNewsOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		h.one(entry("c", "1", "one"))
		want := func(want bool, when string) {
			t.Helper()
			if first := h.gone(hold, "c"); first != want {
				t.Errorf("%s: first is %v", when, first)
			}
			if h.gone(hold, "c") {
				t.Errorf("%s: first twice", when)
			}
		}
		want(true, "closed")
		h.one(entry("c", "2", "open again"))
		want(true, "closed again")
		h.one(member("c", "1", channels.Left))
		want(false, "told so by the platform afterwards")
		h.one(member("c", "2", channels.Joined))
		h.one(member("c", "3", channels.Left))
		want(true, "told so by the platform before any delivery failed")
		stranger := stranger("c", "3")
		h.Accept(stranger)
		want(true, "after a stranger's word")
		h.Accept(mode(entry("c", "4", "by the other path"), "steer"))
		want(true, "after that")
		if h.gone(hold, "nowhere") {
			t.Error("what is not known is not closed")
		}
		h.Accept(member("fresh", "4", channels.Left), member("fresh2", "5", channels.Joined))
		old := hold
		if hold = h.Hold(); hold.Fence == old.Fence {
			t.Fatal("the fence did not grow")
		}
		if _, err := h.Router.Gone(h.Ctx, old, channels.Conversation{ID: "c"}); !errors.Is(err, core.ErrFenced) {
			t.Errorf("under an old fence: %v", err)
		}
	})
}

func TestAdminChatsAreTheLatestOfEachAdmin(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		_, err := h.Router.SetPeople(h.Ctx, []core.Person{{Name: "marco", Role: "admin"}, {Name: "anna", Role: "admin"}, {Name: "otto", Role: "user"}, {Name: "nina", Role: "admin"}})
		if err != nil {
			t.Fatal(err)
		}
		want := func(want string) {
			t.Helper()
			list, err := h.Router.AdminChats(h.Ctx)
			var got []channels.ConversationID
			for _, c := range list {
				got = append(got, c.ID)
			}
			if err != nil || fmt.Sprint(got) != want {
				t.Errorf("%v, %v; want %s", got, err, want)
			}
		}
		want("[]")
		group := entry("group", "1", "in a group")
		group.Event.Conversation.Kind = channels.Group
		h.Accept(entry("m1", "2", "first"), entry("m2", "3", "then here"), by(entry("a1", "4", "hello"), "anna"), by(entry("o1", "5", "hello"), "otto"), group)
		want("[a1 m2 m1]")
		h.Posts("m1", "6", "help")
		want("[m1 a1 m2]")
		h.gone(h.Hold(), "m1")
		want("[a1 m2]")
		list, err := h.Router.AdminChats(h.Ctx)
		if err != nil || list[0].Conversation != (channels.Conversation{Channel: "tg", ID: "a1", Kind: channels.Direct, Place: "a1"}) || list[0].Identity != "tg:anna" {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// Chats are where somebody is served and that are open, the last used first; what only
// strangers wrote in is none.
func TestChatsAreOpenAndServed(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		want := func(want string) {
			t.Helper()
			list, err := h.Router.Chats(h.Ctx)
			got := ""
			for _, c := range list {
				got += fmt.Sprintf(" %s/%s/%s/%s/%s", c.ID, c.Kind, c.Title, c.Person, c.Identity)
			}
			if err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
		want("")
		group := entry("group", "1", "in a group")
		group.Event.Conversation.Kind, group.Event.Conversation.Title = channels.Group, "Team"
		h.Accept(entry("m1", "2", "first"), entry("m2", "3", "then here"), by(entry("a1", "4", "hello"), "anna"), group, stranger("s1", "5"), member("left", "6", channels.Joined))
		h.Posts("m1", "7", "again")
		want(" m1/direct//marco/tg:1 a1/direct//anna/tg:anna m2/direct//marco/tg:1 group/group/Team//")
		// What we write somewhere does not make it the last used, nor does it open it.
		letter := *text("told")
		letter.Person, letter.Taint = "anna", "web"
		for i, id := range []channels.ConversationID{"m2", "n1"} {
			if told, err := h.Router.Notify(h.Ctx, []byte{byte(i)}, channels.Conversation{Channel: "tg", ID: id, Kind: channels.Direct}, letter); err != nil || !told {
				t.Errorf("%v, %v", told, err)
			}
		}
		h.gone(h.Hold(), "m1")
		want(" a1/direct//anna/tg:anna m2/direct//marco/tg:1 n1/direct/// group/group/Team//")
		// Whoever it is told to reads whose it is.
		if recent := h.load(h.Begun("n1", "8")).State.Recent; len(recent) != 1 || recent[0].To != "anna" || recent[0].Taint != "web" || !recent[0].Bot {
			t.Errorf("%+v", recent)
		}
	})
}

func TestNotifySendsOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		conv := channels.Conversation{Channel: "tg", ID: "a", Kind: channels.Direct, Place: "a"}
		for i, want := range []bool{true, false} {
			if told, err := h.Router.Notify(h.Ctx, []byte("gone c"), conv, *text("c is closed")); err != nil || told != want {
				t.Errorf("%d: %v, %v", i, told, err)
			}
		}
		out := h.Begin(hold, "a")
		if out == nil || out.Body.Text != "c is closed" || out.Conversation != conv {
			t.Fatalf("%+v", out)
		}
		h.Settle(hold, out, outbox.Settlement{State: outbox.DeliverySent, PlatformID: "p9"})
		if out = h.Begin(hold, "a"); out != nil {
			t.Errorf("told twice: %+v", out)
		}
		if e, err := h.Router.Events(h.Ctx, "tg:a", 0, 9); err != nil || len(e) != 1 || e[0].Message.Text != "c is closed" || !e[0].Message.Notice {
			t.Errorf("%+v, %v", e, err)
		}
		// It opens nothing: only the other side does.
		h.gone(hold, "a")
		if told, err := h.Router.Notify(h.Ctx, []byte("more"), conv, *text("more")); err != nil || !told {
			t.Errorf("%v, %v", told, err)
		}
		if h.gone(hold, "a") {
			t.Error("our own message opened the conversation")
		}
		if got, _, err := h.Router.Shown(h.Ctx, conv, "p9", "marco"); err != nil || got != "c is closed" {
			t.Errorf("%q, %v", got, err)
		}
		for _, id := range []channels.MessageID{"", "p10"} {
			if _, _, err := h.Router.Shown(h.Ctx, conv, id, "marco"); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}
