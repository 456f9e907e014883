package people_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/router/routertest"
	"switchboard/store"
	"switchboard/store/storetest"
)

func (r *rig) newClaim() (code string) {
	r.T.Helper()
	code, err := r.Router.Asking.NewClaim(r.T.Context(), "", people.LocalActor("owner"))
	if err != nil {
		r.T.Fatal(err)
	}
	return code
}

// admins are the people of the database who are admins, in the order of their names.
func (r *rig) admins() string {
	r.T.Helper()
	people, err := r.DB.Router().People(r.T.Context())
	if err != nil {
		r.T.Fatal(err)
	}
	var names []string
	for _, p := range people {
		if p.Role == core.RoleAdmin {
			names = append(names, p.Name+" "+strings.Join(p.Identities, ","))
		}
	}
	return strings.Join(names, "; ")
}

// holds counts the rows of tables that hold a text.
func (r *rig) holds(text string) (n int) {
	r.T.Helper()
	for _, column := range []string{"messages.text", "messages.said", "messages.quote", "deliveries.text", "actions.text", "actions.data", "audit.data"} {
		table, name, _ := strings.Cut(column, ".")
		found, err := storetest.Count(r.T.Context(), r.DB, "SELECT count(*) FROM "+table+" WHERE "+name+" LIKE '%"+text+"%'")
		if err != nil {
			r.T.Fatal(err)
		}
		n += int(found)
	}
	return n
}

// A code of an admin makes the account that sends it theirs, as long as they are that admin.
func TestClaimCodeOfAnAdminMakesTheAccountTheirs(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		code := func(person string) string {
			text, err := r.Router.Asking.NewClaim(t.Context(), person, people.LocalActor(person))
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		r.Accept(routertest.Event(1, "c9", "eve", "/claim "+code("ada")))
		r.Mentions(1, "Welcome! You are an admin")
		r.change(people.ChangeAdd, "carl", core.RoleUser, "scripted:carl")
		r.Accept(routertest.Event(2, "c7", "carl", "/claim "+code("ada")))
		r.Mentions(2, "Welcome! You are an admin")
		if got := r.admins(); got != "ada scripted:ada,scripted:carl,scripted:eve" {
			t.Errorf("admins: %s", got)
		}
		if got := r.owner("scripted:carl"); got != "ada" {
			t.Errorf("carl is %q", got)
		}
		r.change(people.ChangeAdd, "dora", core.RoleAdmin, "scripted:dora")
		late := code("dora")
		r.change(people.ChangeRemove, "dora", "")
		r.change(people.ChangeAdd, "dora", core.RoleAdmin, "scripted:another")
		if receipt := r.Accept(routertest.Event(3, "c8", "mallory", "/claim "+late))[0]; !receipt.Silent || r.owner("scripted:mallory") != "" {
			t.Errorf("a code of whoever had the name before: %+v, %q", receipt, r.owner("scripted:mallory"))
		}
	})
}

func TestClaimCodeMakesOneAdmin(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		code := r.newClaim()
		group := routertest.Event(1, "g1", "eve", "/claim "+code)
		group.Conversation.Kind = channels.Group
		group.Message.Mentioned = true
		machine := routertest.Event(2, "c2", "eve", "/claim "+code)
		machine.Sender.Bot = true
		for _, e := range []channels.Event{group, machine, routertest.Event(3, "c9", "eve", "/claim AAAA-BBBB-CCCC"), routertest.Event(4, "c9", "eve", "/claim "), routertest.Event(5, "c9", "eve", code), routertest.Event(6, "c9", "eve", "/help")} {
			if receipt := r.Accept(e)[0]; !receipt.Silent || receipt.TurnID != 0 {
				t.Errorf("%s: %+v", e.Key, receipt)
			}
		}
		if got := r.admins(); got != "ada scripted:ada" {
			t.Fatalf("admins: %s", got)
		}
		claim := routertest.Event(7, "c9", "eve", "/claim "+strings.ToLower(strings.ReplaceAll(code, "-", "")))
		claim.Sender.Label = "Eve Ex"
		r.Accept(claim)
		r.Mentions(1, "Welcome! You are an admin")
		if got := r.admins(); got != "Eve scripted:eve; ada scripted:ada" {
			t.Errorf("admins: %s", got)
		}
		r.Accept(routertest.Event(8, "c9", "eve", "hello"))
		r.Shows(2, "re: hello")
		// Anybody else, with the same code.
		if receipt := r.Accept(routertest.Event(9, "c8", "mallory", "/claim "+code))[0]; !receipt.Silent {
			t.Errorf("%+v", receipt)
		}
		r.Accept(routertest.Event(10, "c9", "eve", "/claim "+code))
		r.Mentions(3, "That code is no longer valid")
		r.Accept(routertest.Event(11, "c2", "bob", "/claim "+code))
		r.Mentions(4, "My settings file lists you")
		again := r.newClaim()
		r.Accept(routertest.Event(12, "c9", "eve", "/claim "+again))
		r.Mentions(5, "You are an admin already")
		r.change(people.ChangeAdd, "carl", core.RoleUser, "scripted:carl")
		r.Accept(routertest.Event(13, "c7", "carl", "/start "+again))
		r.Mentions(6, "Welcome!")
		r.Accept(routertest.Event(14, "c7", "carl", "/start"))
		r.Mentions(7, "Hello carl.", "Your role is admin")
		if got := r.admins(); got != "Eve scripted:eve; ada scripted:ada; carl scripted:carl" {
			t.Errorf("admins: %s", got)
		}
		r.HasTurns(1)
		for _, text := range []string{code, strings.ToLower(strings.ReplaceAll(code, "-", "")), again} {
			if n := r.holds(text); n != 0 {
				t.Errorf("%d rows hold a code", n)
			}
		}
	})
}

func TestClaimCodesAreTriedFiveTimesAnHour(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		code := r.newClaim()
		var batch []channels.Event
		for i := range 3 {
			batch = append(batch, routertest.Event(i, "c8", "mallory", "/claim AAAA-BBBB-CCCC"))
		}
		r.Accept(batch...)
		for i := range 2 {
			r.Accept(routertest.Event(10+i, "c8", "mallory", "/claim AAAA-BBBB-CCCC"))
		}
		r.Accept(routertest.Event(20, "c8", "mallory", "/claim "+code))
		if got := r.admins(); got != "ada scripted:ada" {
			t.Errorf("admins: %s", got)
		}
		r.change(people.ChangeAdd, "dora", core.RoleUser, "scripted:dora")
		for i := range 6 {
			r.Accept(routertest.Event(30+i, "c1", "dora", "/claim AAAA-BBBB-CCCC"))
		}
		r.Mentions(5, "There is no such code")
		r.Mentions(6, "You have tried five codes within an hour")
		r.Accept(routertest.Event(40, "c7", "carl", "/claim "+code))
		if got := r.admins(); got != "ada scripted:ada; carl scripted:carl" {
			t.Errorf("admins: %s", got)
		}
	})
}

// A code that two send at once makes one of them an admin; one that is too old nobody.
func TestClaimCodeIsGoodOnceAndForADay(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		code := r.newClaim()
		var both sync.WaitGroup
		for i := range 6 {
			both.Go(func() { r.Accept(routertest.Event(i, fmt.Sprint("c", 20+i), fmt.Sprint("s", i), "/claim "+code)) })
		}
		both.Wait()
		r.Mentions(1, "Welcome!") // before what others are sent
		if n := strings.Count(r.admins(), ";"); n != 1 {
			t.Errorf("admins: %s", r.admins())
		}
		r.change(people.ChangeAdd, "dora", core.RoleUser, "scripted:dora")
		late := "AAAABBBBCCCC"
		if err := r.DB.Router().ProposeClaim(t.Context(), outbox.HashCode(late), "", time.Now().Add(-time.Second), people.LocalActor("owner")); err != nil {
			t.Fatal(err)
		}
		r.Accept(routertest.Event(50, "c1", "dora", "/claim "+late))
		r.Mentions(2, "That code is too old")
		r.newClaim() // clears those away
		r.Accept(routertest.Event(51, "c1", "dora", "/claim "+late))
		r.Mentions(3, "There is no such code")
	})
}

// Who lets themselves in by a code is not called like somebody else, nor by what nobody sees.
func TestClaimGivesNobodyAnothersName(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		for i, label := range []string{"\u0430d\u0430", "b\u043eb", "B\u200bob", "o\u0308tto", "\u202eada"} {
			claim := routertest.Event(i, fmt.Sprint("c", 10+i), fmt.Sprint("s", i), "/claim "+r.newClaim())
			claim.Sender.Label = label
			r.Accept(claim)
			r.Mentions(i+1, "Welcome!")
		}
		if got := r.admins(); got != "ada scripted:ada; b\u043eb2 scripted:s1; scripted:s2 scripted:s2; scripted:s3 scripted:s3; scripted:s4 scripted:s4; \u0430d\u04302 scripted:s0" {
			t.Errorf("admins: %q", got)
		}
	})
}

func TestUsedClaimCodeEndsTheOthers(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		first, second, third := r.newClaim(), r.newClaim(), r.newClaim()
		r.Accept(routertest.Event(1, "c9", "eve", "/claim "+second))
		r.Mentions(1, "Welcome!")
		if receipt := r.Accept(routertest.Event(2, "c8", "mallory", "/claim "+first))[0]; !receipt.Silent {
			t.Errorf("%+v", receipt)
		}
		r.change(people.ChangeAdd, "dora", core.RoleUser, "scripted:dora")
		r.Accept(routertest.Event(3, "c1", "dora", "/claim "+first))
		r.Mentions(2, "That code is no longer valid")
		r.Accept(routertest.Event(4, "c1", "dora", "/claim "+third))
		r.Mentions(3, "That code is no longer valid")
		r.Accept(routertest.Event(5, "c1", "dora", "/claim "+r.newClaim()))
		r.Mentions(4, "Welcome!")
		if got := r.admins(); got != "ada scripted:ada; dora scripted:dora; eve scripted:eve" {
			t.Errorf("admins: %s", got)
		}
	})
}

func TestClaimWorksInEveryModeButDisabled(t *testing.T) {
	t.Parallel()
	for _, dm := range []string{"allowlist", "pairing", "open", "disabled"} {
		storetest.Each(t, func(t *testing.T, db *store.DB) {
			r := newRig(t, db)
			r.Channel.DM = dm
			r.Start()
			e := routertest.Event(1, "c9", "eve", "/claim "+r.newClaim())
			e.Sender.Team, e.Sender.Label = "T1", "ada" // a name that is taken
			r.Accept(e)
			want := "ada scripted:ada; ada2 scripted:T1/eve"
			switch dm {
			case "open": // who is a person already
				want = "ada scripted:ada; scripted:eve scripted:eve"
			case "disabled":
				want = "ada scripted:ada"
			}
			if got := r.admins(); got != want {
				t.Errorf("%s: %s", dm, got)
			}
			r.End()
		})
	}
}
