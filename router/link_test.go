package router_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/ledger"
	"switchboard/store/storetest"
)

var linkCode = regexp.MustCompile(`\b[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4}\b`)

// links has a person make a link code.
func (r *rig) links(conv, user string) (code string) {
	r.t.Helper()
	return linkCode.FindString(r.asks(conv, user, "/link"))
}

// asks has somebody write, and returns the answer.
func (r *rig) asks(conv, user, text string) string {
	r.t.Helper()
	n := len(r.platform.SentIn(conv))
	r.platform.Say(conv, user, text)
	r.until(user+" is answered", func() bool { return len(r.platform.SentIn(conv)) > n })
	return r.platform.SentIn(conv)[n].Text
}

// owner is who an identity is, as the database says.
func (r *rig) owner(identity string) string {
	r.t.Helper()
	people, err := r.db.Router().People(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range people {
		for _, id := range p.Identities {
			if id == identity {
				return p.Name
			}
		}
	}
	return ""
}

// promise: P4.linking
func TestLinkCodeMakesTwoAccountsOnePerson(t *testing.T) {
	const same, wrong, byFile, admin = "the same person", "That code is not good", "My settings name you", "You are an admin here, and would be one no more"
	cases := []struct {
		name, maker, sender, text string // MAKER, SENDER are persons of the case; CODE stands for the code
		want, owner               string
		good                      bool // the code stays so
	}{
		{"a stranger", "MAKER", "eve", "/link CODE", same, "MAKER", false},
		{"a stranger by a link", "MAKER", "carl", "/start code", same, "MAKER", false},
		{"a stranger of a person of the file", "bob", "finn", "/link CODE", same, "bob", false},
		{"a person", "MAKER", "SENDER", "/link CODE", same, "MAKER", false},
		{"a person to one of the file", "bob", "SENDER", "/link CODE", same, "bob", false},
		{"a person of the file", "MAKER", "bob", "/link CODE", byFile, "bob", true},
		{"an admin", "MAKER", "zoe", "/link CODE", admin, "zoe", true},
		{"who made it", "MAKER", "MAKER", "/link CODE", "made by you", "MAKER", true},
		{"another code", "MAKER", "SENDER", "/link AAAA-BBBB-CCC2", wrong, "SENDER", true},
		{"another command", "MAKER", "SENDER", "/claim CODE", "There is no such code", "SENDER", true},
		{"no code", "MAKER", "SENDER", "/link please", "That is no code", "SENDER", true},
	}
	each(t, func(t *testing.T, r *rig) {
		r.start()
		r.change(ledger.ChangeAdd, "zoe", ledger.RoleAdmin, "scripted:zoe")
		owners := map[string]string{}
		for i := range cases {
			c, id := &cases[i], fmt.Sprint(i)
			maker, sender, again := "maker"+id, "sender"+id, "again"+id
			for _, name := range []string{maker, sender, again} {
				r.change(ledger.ChangeAdd, name, ledger.RoleUser, "scripted:"+name)
			}
			names := strings.NewReplacer("MAKER", maker, "SENDER", sender)
			from, owner := names.Replace(c.sender), names.Replace(c.owner)
			code := r.links("c"+id, names.Replace(c.maker))
			text := strings.ReplaceAll(strings.ReplaceAll(c.text, "CODE", code), "code", strings.ToLower(strings.ReplaceAll(code, "-", "")))
			if got := r.asks("s"+id, from, text); !strings.Contains(got, c.want) {
				t.Errorf("%s: answered %q", c.name, got)
			}
			role := ", role user"
			if from == "zoe" {
				role = ", role admin"
			}
			if got := r.asks("s"+id, from, "/whoami"); !strings.Contains(got, "You are "+owner+role) {
				t.Errorf("%s: whoami says %q", c.name, got)
			}
			got := r.asks("a"+id, again, "/link "+code)
			if good := strings.Contains(got, same); good != c.good || !good && !strings.Contains(got, wrong) {
				t.Errorf("%s: tried again: %q", c.name, got)
			}
			if n := r.holds(code) - r.deliveriesWith(code); n != 0 {
				t.Errorf("%s: %d rows besides what was sent hold the code", c.name, n)
			}
			owners["scripted:"+from] = owner
		}
		r.end()
		r.start() // the file is read again
		for identity, owner := range owners {
			if got := r.owner(identity); got != owner {
				t.Errorf("after a restart %s is %q, want %q", identity, got, owner)
			}
		}
	})
}

func (r *rig) deliveriesWith(text string) int {
	r.t.Helper()
	n, err := count(r, "SELECT count(*) FROM deliveries WHERE text LIKE '%"+text+"%'")
	if err != nil {
		r.t.Fatal(err)
	}
	return int(n)
}

// What is of the other account goes to who made the code; the chats stay apart, and what
// stands in the audit log stays.
//
// promise: P4.linking
func TestLinkedRowsMove(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		release := r.brain.held("long", "later")
		r.start()
		r.change(ledger.ChangeAdd, "dora", ledger.RoleUser, "scripted:dora")
		r.change(ledger.ChangeAdd, "carl", ledger.RoleUser, "scripted:carl", "scripted:carl2")
		r.asks("c9", "carl", "hello")
		r.begins("c9", "carl", "long")
		r.platform.Say("c9", "carl", "later")
		r.until("it waits", func() bool { return len(r.turns()) == 3 })
		storetest.Exec(t, r.db,
			"INSERT INTO memories (kind, scope, person, text, state, created_at, updated_at) VALUES ('fact', 'person', 'carl', 'x', 'active', 1, 1)",
			"INSERT INTO spending (day, scope, name, settled, reserved) VALUES ('2026-01-01', 'person', 'carl', 5, 2), ('2026-01-01', 'person', 'dora', 1, 0)",
			"INSERT INTO approvals (kind, state, person, scope, decided_by, created_at, expires_at) VALUES ('tool', 'accepted', 'carl', 'always', 'carl', 1, 1)",
			"INSERT INTO actions (code, kind, state, person, session_id, created_at, expires_at) SELECT CAST('x' AS "+r.bytes()+"), 'choice', 'proposed', 'carl', min(session_id), 1, 1 FROM turns WHERE person = 'carl'")
		if got := r.asks("c8", "carl2", "/link "+r.links("c1", "dora")); !strings.Contains(got, "the same person") {
			t.Fatalf("answered %q", got)
		}
		if p := r.roster.Named("carl"); p == nil || p.Name != "dora" {
			t.Errorf("what runs knows %+v", p)
		}
		release()
		r.until("all is answered", func() bool { return len(r.platform.SentIn("c9")) == 3 })
		r.allEnded()
		if got := r.persons(); got != "dora user scripted:carl,scripted:carl2,scripted:dora" {
			t.Errorf("people: %s", got)
		}
		for _, query := range []string{
			"SELECT count(*) FROM turns WHERE person = 'carl'", "SELECT count(*) FROM sessions WHERE person = 'carl'",
			"SELECT count(*) FROM messages WHERE direction = 'in' AND (person = 'carl' OR author = 'carl')", "SELECT count(*) FROM memories WHERE person = 'carl'",
			"SELECT count(*) FROM spending WHERE name = 'carl'", "SELECT settled - 6 FROM spending WHERE name = 'dora'", "SELECT reserved - 2 FROM spending WHERE name = 'dora'",
			"SELECT count(*) FROM approvals WHERE person = 'carl' OR decided_by = 'carl'", "SELECT count(*) FROM actions WHERE person = 'carl' AND state = 'proposed'",
		} {
			if n, err := count(r, query); err != nil || n != 0 {
				t.Errorf("%s: %d %v", query, n, err)
			}
		}
		if n, err := count(r, "SELECT count(*) FROM sessions WHERE person = 'dora'"); err != nil || n != 3 {
			t.Errorf("%d sessions %v", n, err)
		}
		if n, err := count(r, "SELECT count(*) FROM audit WHERE target = 'person carl'"); err != nil || n != 1 {
			t.Errorf("%d audit rows %v", n, err)
		}
	})
}

func (r *rig) bytes() string {
	if r.db.PG() {
		return "bytea"
	}
	return "blob"
}

// An account becomes an admin's only with a word of theirs, in the chat where they made the
// code.
//
// promise: P4.linking
func TestLinkToAnAdminIsConfirmed(t *testing.T) {
	for _, c := range []struct{ name, sender, decide, toast, owner, told string }{
		{"a stranger", "eve", "Allow", "Allowed: that account is yours now as well.", "ada", "the same person"},
		{"an admin", "zoe", "Allow", "Allowed: that account is yours now as well.", "ada", "the same person"},
		{"denied", "eve", "Deny", "Denied. Nothing was changed.", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.script.Rich, r.script.Buttons = true, true
				r.start()
				r.change(ledger.ChangeAdd, "zoe", ledger.RoleAdmin, "scripted:zoe")
				r.asks("c4", "ada", "hello") // a chat that she used before
				code := r.links("c1", "ada")
				r.asks("c5", "ada", "hello")
				r.platform.Write(scripted.Message{Conversation: "s9", User: c.sender, Label: "Your *boss*", Text: "/link " + code})
				r.until("both read of it", func() bool { return len(r.platform.SentIn("c1")) == 2 && len(r.platform.SentIn("s9")) == 1 })
				if got := r.platform.SentIn("s9")[0].Text; !strings.Contains(got, "I have asked on your other account") {
					t.Errorf("they read %q", got)
				}
				question := r.platform.SentIn("c1")[1]
				for _, want := range []string{"scripted:" + c.sender, "play", "who calls themselves", "would be you from now on: an admin"} {
					if !strings.Contains(question.Text, want) {
						t.Errorf("%q lacks %q", question.Text, want)
					}
				}
				typed := pairCode.FindString(question.Text)
				if got := r.asks("c5", "ada", "/approve "+typed); !strings.Contains(got, "no question with that code") {
					t.Errorf("typed in another chat: %q", got)
				}
				if got := r.owner("scripted:" + c.sender); got == "ada" {
					t.Error("it was not asked")
				}
				r.toasts(r.platform.Press("c1", "zoe", c.decide), "This is not for you.")
				r.end()
				callback := r.platform.Press("c1", "ada", c.decide)
				r.start()
				r.toasts(callback, c.toast)
				if got := r.owner("scripted:" + c.sender); got != c.owner {
					t.Errorf("the account is %q", got)
				}
				if c.told != "" {
					r.until("they are told", func() bool { return len(r.platform.SentIn("s9")) == 2 })
					if got := r.platform.SentIn("s9")[1].Text; !strings.Contains(got, c.told) {
						t.Errorf("they are told %q", got)
					}
					if got := r.asks("s9", c.sender, "/whoami"); !strings.Contains(got, "You are ada, role admin") {
						t.Errorf("whoami: %q", got)
					}
				}
			})
		})
	}
}

// Between the question and the answer the account may become somebody's.
//
// promise: P4.linking
func TestLinkIsLookedAtAgainWhenAllowed(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start()
		r.asks("s9", "eve", "/link "+r.links("c1", "ada"))
		r.until("she is asked", func() bool { return len(r.platform.SentIn("c1")) == 2 })
		typed := pairCode.FindString(r.platform.SentIn("c1")[1].Text)
		r.end()
		r.people = append(r.people, ledger.Person{Name: "eve", Role: ledger.RoleUser, Identities: []string{"scripted:eve"}, Tools: []string{"*"}, Source: ledger.FromSettings})
		r.start()
		if got := r.asks("c1", "ada", "/approve "+typed); !strings.Contains(got, "not open any more") {
			t.Errorf("answered %q", got)
		}
		if got := r.owner("scripted:eve"); got != "eve" {
			t.Errorf("the account is %q", got)
		}
	})
}

// promise: P4.linking
func TestLinkCodesAreShortLived(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.start()
		r.change(ledger.ChangeAdd, "dora", ledger.RoleUser, "scripted:dora")
		r.change(ledger.ChangeAdd, "carl", ledger.RoleUser, "scripted:carl")
		first := r.links("c1", "dora")
		second := r.links("c1", "dora")
		others := r.links("c2", "bob") // ends none of hers
		for _, bad := range []string{first, "AAAA-BBBB-CCC2"} {
			if got := r.asks("c9", "carl", "/link "+bad); !strings.Contains(got, "That code is not good") {
				t.Errorf("answered %q", got)
			}
		}
		r.platform.Say("s9", "eve", "/link "+first) // a stranger learns nothing
		time.Sleep(10*time.Minute + time.Second)
		for _, late := range []string{second, others} {
			if got := r.asks("c9", "carl", "/link "+late); !strings.Contains(got, "That code is not good") {
				t.Errorf("answered %q", got)
			}
		}
		r.asks("c9", "carl", "/link AAAA-BBBB-CCC2")
		if got := r.asks("c9", "carl", "/link "+r.links("c1", "dora")); !strings.Contains(got, "five codes within an hour") {
			t.Errorf("answered %q", got)
		}
		if n := len(r.platform.SentIn("s9")); n != 0 {
			t.Errorf("a stranger read %d lines", n)
		}
		gone := r.links("c1", "dora")
		r.change(ledger.ChangeRemove, "dora", "")
		r.change(ledger.ChangeAdd, "dora", ledger.RoleUser, "scripted:other")
		r.change(ledger.ChangeAdd, "finn", ledger.RoleUser, "scripted:finn")
		if got := r.asks("c8", "finn", "/link "+gone); !strings.Contains(got, "That code is not good") {
			t.Errorf("of who was removed: %q", got)
		}
	})
}

// promise: P4.linking
func TestWhereNoLinkCodeIsShown(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.channel.Groups, r.channel.DM = "open", "open"
		r.start()
		r.platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "/link"})
		r.mentions(1, "Write /link to me in a direct chat")
		if got := r.asks("c9", "eve", "/link"); !strings.Contains(got, "I know you only from where everybody may write") {
			t.Errorf("answered %q", got)
		}
		// Who is let in by an open policy becomes the other person with all they had.
		if got := r.asks("c9", "eve", "/link "+r.links("c2", "bob")); !strings.Contains(got, "the same person") {
			t.Errorf("answered %q", got)
		}
		if got := r.persons(); got != "" {
			t.Errorf("people: %s", got)
		}
		if got := r.owner("scripted:eve"); got != "bob" {
			t.Errorf("the account is %q", got)
		}
	})
}

// Of those who type a code at once at two engines one becomes its maker, and both engines
// know.
//
// promise: P4.linking
func TestTwoEnginesLinkOne(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	startBoth(a, b)
	a.change(ledger.ChangeAdd, "dora", ledger.RoleUser, "scripted:dora")
	code := a.links("c1", "dora")
	var typing sync.WaitGroup
	for i, r := range []*rig{a, b, a, b, a, b} {
		user := fmt.Sprint("p", i)
		e := writes("s"+user, user)
		e.Message.Text = "/link " + code
		typing.Go(func() { r.accept([]channels.Event{e}...) })
	}
	typing.Wait()
	people, err := a.db.Router().Person(t.Context(), "dora")
	if err != nil || len(people.Identities) != 2 {
		t.Fatalf("%+v %v", people, err)
	}
	for _, r := range []*rig{a, b} {
		r.until("the engine knows", func() bool { return r.roster.Identified(people.Identities[1]) != nil })
	}
}
