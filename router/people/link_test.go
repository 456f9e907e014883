package people_test

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/router/routertest"
	"switchboard/store/storetest"
)

var linkCode = regexp.MustCompile(`\b[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4}\b`)

// links has a person make a link code.
func (r *rig) links(conv, user string) (code string) {
	r.T.Helper()
	return linkCode.FindString(r.Asks(conv, user, "/link"))
}

// confirm types the word of one side, which has been asked last in conv, and returns the answer.
func (r *rig) confirm(conv, user, word string) string {
	r.T.Helper()
	code := ""
	r.Until("a code is shown", func() bool { // the question may come behind an answer, or before it
		sent := r.Platform.SentIn(conv)
		for _, m := range sent[max(0, len(sent)-2):] {
			code = cmp.Or(pairCode.FindString(m.Text), code)
		}
		return code != ""
	})
	return r.Asks(conv, user, "/"+word+" "+code)
}

// linked has a code used, and both sides confirm it.
func (r *rig) linked(maker, makerConv, sender, senderConv string) {
	r.T.Helper()
	code := r.links(makerConv, maker)
	n := len(r.Platform.SentIn(makerConv))
	r.Asks(senderConv, sender, "/link "+code)
	r.Until("both are asked", func() bool { return len(r.Platform.SentIn(makerConv)) > n })
	r.confirm(senderConv, sender, "approve")
	r.confirm(makerConv, maker, "approve")
	r.Until("they are told", func() bool { return r.shownIn(senderConv, "the same person") })
}

// owner is who an identity is, as the database says.
func (r *rig) owner(identity string) string {
	r.T.Helper()
	people, err := r.DB.Router().People(r.T.Context())
	if err != nil {
		r.T.Fatal(err)
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

func TestLinkCodeMakesTwoAccountsOnePerson(t *testing.T) {
	const same, wrong, byFile, admin = "becomes", "That code is not valid", "My settings file lists you", "You are an admin here, and this would end that"
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
		{"no code", "MAKER", "SENDER", "/link please", "I cannot use that code here", "SENDER", true},
	}
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		r.change(people.ChangeAdd, "zoe", core.RoleAdmin, "scripted:zoe")
		owners := map[string]string{}
		for i := range cases {
			c, id := &cases[i], fmt.Sprint(i)
			maker, sender, again := "maker"+id, "sender"+id, "again"+id
			for _, name := range []string{maker, sender, again} {
				r.change(people.ChangeAdd, name, core.RoleUser, "scripted:"+name)
			}
			names := strings.NewReplacer("MAKER", maker, "SENDER", sender)
			from, owner := names.Replace(c.sender), names.Replace(c.owner)
			code := r.links("c"+id, names.Replace(c.maker))
			text := strings.ReplaceAll(strings.ReplaceAll(c.text, "CODE", code), "code", strings.ToLower(strings.ReplaceAll(code, "-", "")))
			if got := r.Asks("s"+id, from, text); !strings.Contains(got, c.want) {
				t.Errorf("%s: answered %q", c.name, got)
			}
			if c.want == same {
				r.Until("the maker is asked", func() bool { return len(r.Platform.SentIn("c"+id)) == 2 })
				if got := r.confirm("s"+id, from, "approve"); !strings.Contains(got, "Confirmed here. Please") {
					t.Errorf("%s: the sender confirms: %q", c.name, got)
				}
				if got := r.owner("scripted:" + from); got == owner {
					t.Errorf("%s: it is done with one word", c.name)
				}
				if got := r.confirm("c"+id, names.Replace(c.maker), "approve"); !strings.Contains(got, "Done: both accounts") {
					t.Errorf("%s: the maker confirms: %q", c.name, got)
				}
				r.Until("they are told", func() bool { return len(r.Platform.SentIn("s"+id)) == 3 })
			}
			role := ", role user"
			if from == "zoe" {
				role = ", role admin"
			}
			if got := r.Asks("s"+id, from, "/whoami"); !strings.Contains(got, "You are "+owner+role) {
				t.Errorf("%s: whoami says %q", c.name, got)
			}
			got := r.Asks("a"+id, again, "/link "+code)
			if good := strings.Contains(got, same); good != c.good || !good && !strings.Contains(got, wrong) {
				t.Errorf("%s: tried again: %q", c.name, got)
			}
			if n := r.holds(code) - r.deliveriesWith(code); n != 0 {
				t.Errorf("%s: %d rows besides what was sent hold the code", c.name, n)
			}
			owners["scripted:"+from] = owner
		}
		r.End()
		r.Start() // the file is read again
		for identity, owner := range owners {
			if got := r.owner(identity); got != owner {
				t.Errorf("after a restart %s is %q, want %q", identity, got, owner)
			}
		}
	})
}

func (r *rig) deliveriesWith(text string) int {
	r.T.Helper()
	n, err := r.Count("SELECT count(*) FROM deliveries WHERE text LIKE '%" + text + "%'")
	if err != nil {
		r.T.Fatal(err)
	}
	return int(n)
}

// What is of the other account goes to who made the code; the chats stay apart, and what
// stands in the audit log stays.
func TestLinkedRowsMove(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		release := r.Brain.Held("long", "later")
		r.Start()
		r.change(people.ChangeAdd, "dora", core.RoleUser, "scripted:dora")
		r.change(people.ChangeAdd, "carl", core.RoleUser, "scripted:carl", "scripted:carl2")
		r.Asks("c9", "carl", "hello")
		r.Begins("c9", "carl", "long")
		r.Platform.Say("c9", "carl", "later")
		r.Until("it waits", func() bool { return len(r.Turns()) == 3 })
		storetest.Exec(t, r.DB,
			"INSERT INTO memories (kind, scope, person, text, state, created_at, updated_at) VALUES ('fact', 'person', 'carl', 'x', 'active', 1, 1)",
			"INSERT INTO spending (day, scope, name, settled, reserved) VALUES ('2026-01-01', 'person', 'carl', 5, 2), ('2026-01-01', 'person', 'dora', 1, 0)",
			"INSERT INTO approvals (kind, state, person, scope, decided_by, created_at, expires_at) VALUES ('tool', 'accepted', 'carl', 'always', 'carl', 1, 1)",
			"INSERT INTO actions (code, kind, state, person, session_id, created_at, expires_at) SELECT CAST('x' AS "+r.bytes()+"), 'choice', 'proposed', 'carl', min(session_id), 1, 1 FROM turns WHERE person = 'carl'")
		r.linked("dora", "c1", "carl2", "c8")
		if p := r.Roster.Named("carl"); p == nil || p.Name != "dora" {
			t.Errorf("what runs knows %+v", p)
		}
		release()
		r.Until("all is answered", func() bool { return len(r.Platform.SentIn("c9")) == 3 })
		r.AllEnded()
		if got := r.persons(); got != "dora user scripted:carl,scripted:carl2,scripted:dora" {
			t.Errorf("people: %s", got)
		}
		for _, query := range []string{
			"SELECT count(*) FROM turns WHERE person = 'carl'", "SELECT count(*) FROM sessions WHERE person = 'carl'",
			"SELECT count(*) FROM messages WHERE direction = 'in' AND (person = 'carl' OR author = 'carl')", "SELECT count(*) FROM memories WHERE person = 'carl'",
			"SELECT count(*) FROM spending WHERE name = 'carl'", "SELECT settled - 6 FROM spending WHERE name = 'dora'", "SELECT reserved - 2 FROM spending WHERE name = 'dora'",
			"SELECT count(*) FROM approvals WHERE person = 'carl' OR decided_by = 'carl'", "SELECT count(*) FROM actions WHERE person = 'carl' AND state = 'proposed'",
		} {
			if n, err := r.Count(query); err != nil || n != 0 {
				t.Errorf("%s: %d %v", query, n, err)
			}
		}
		if n, err := r.Count("SELECT count(*) FROM sessions WHERE person = 'dora'"); err != nil || n != 3 {
			t.Errorf("%d sessions %v", n, err)
		}
		if n, err := r.Count("SELECT count(*) FROM audit WHERE target = 'person carl'"); err != nil || n != 1 {
			t.Errorf("%d audit rows %v", n, err)
		}
	})
}

func (r *rig) bytes() string {
	if r.DB.PG() {
		return "bytea"
	}
	return "blob"
}

func TestLinkCodesAreShortLived(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Start()
		r.change(people.ChangeAdd, "dora", core.RoleUser, "scripted:dora")
		r.change(people.ChangeAdd, "carl", core.RoleUser, "scripted:carl")
		first := r.links("c1", "dora")
		second := r.links("c1", "dora")
		others := r.links("c2", "bob") // ends none of hers
		for _, bad := range []string{first, "AAAA-BBBB-CCC2"} {
			if got := r.Asks("c9", "carl", "/link "+bad); !strings.Contains(got, "That code is not valid") {
				t.Errorf("answered %q", got)
			}
		}
		r.Platform.Say("s9", "eve", "/link "+first) // a stranger learns nothing
		time.Sleep(10*time.Minute + time.Second)
		for _, late := range []string{second, others} {
			if got := r.Asks("c9", "carl", "/link "+late); !strings.Contains(got, "That code is not valid") {
				t.Errorf("answered %q", got)
			}
		}
		r.Asks("c9", "carl", "/link AAAA-BBBB-CCC2")
		if got := r.Asks("c9", "carl", "/link "+r.links("c1", "dora")); !strings.Contains(got, "five codes within an hour") {
			t.Errorf("answered %q", got)
		}
		if n := len(r.Platform.SentIn("s9")); n != 0 {
			t.Errorf("a stranger read %d lines", n)
		}
		// So is the question, also where one side has confirmed it.
		r.change(people.ChangeAdd, "gina", core.RoleUser, "scripted:gina")
		code := r.links("c1", "dora")
		r.Asks("c7", "gina", "/link "+code)
		r.Until("both are asked", func() bool { return r.shownIn("c1", "wants to become an account of yours") })
		var typed string
		for _, sent := range r.Platform.SentIn("c1") {
			if strings.Contains(sent.Text, "wants to become an account of yours") {
				typed = pairCode.FindString(sent.Text)
			}
		}
		r.confirm("c7", "gina", "approve")
		time.Sleep(10*time.Minute + time.Second)
		if got := r.Asks("c1", "dora", "/approve "+typed); !strings.Contains(got, "not open any more") {
			t.Errorf("confirmed late: %q", got)
		}
		if got := r.owner("scripted:gina"); got != "gina" {
			t.Errorf("the account is %q", got)
		}
		gone := r.links("c1", "dora")
		r.change(people.ChangeRemove, "dora", "")
		r.change(people.ChangeAdd, "dora", core.RoleUser, "scripted:other")
		r.change(people.ChangeAdd, "finn", core.RoleUser, "scripted:finn")
		if got := r.Asks("c8", "finn", "/link "+gone); !strings.Contains(got, "That code is not valid") {
			t.Errorf("of who was removed: %q", got)
		}
	})
}

// An account is taken off by whoever has it; the last one stays, as does one of the settings. Who
// speaks in its chat next is a stranger, and reads nothing of what was said.
func TestUnlinkTakesAnAccountOff(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Rich, r.Script.Buttons, r.Channel.Groups = true, true, "open"
		r.Start()
		r.change(people.ChangeAdd, "dora", core.RoleUser, "scripted:dora", "scripted:dora2")
		r.change(people.ChangeAdd, "carl", core.RoleUser, "scripted:carl")
		r.change(people.ChangeAdd, "zoe", core.RoleUser, "scripted:zoe", "gone:zoe", "console:zoe")
		r.linked("bob", "c6", "eve", "c5")
		r.Asks("c1", "dora", "hello")
		r.Asks("c2", "dora2", "my secret plan")
		r.Asks("c5", "eve", "hello")
		for _, c := range []struct{ conv, user, text, want string }{
			{"c3", "carl", "/unlink", "the only account of yours"},
			{"c3", "carl", "/unlink scripted:carl", "your last account"},
			{"c1", "dora", "/unlink scripted:carl", "no account of yours"},
			{"c6", "bob", "/unlink scripted:bob", "My settings name scripted:bob"},
			{"c1", "dora", "/unlink", "scripted:dora, scripted:dora2"},
			{"c9", "zoe", "/unlink scripted:zoe", "no platform where the other accounts are"},
			{"c9", "zoe", "/unlink console:zoe", "the account of this machine"},
		} {
			if got := r.Asks(c.conv, c.user, c.text); !strings.Contains(got, c.want) {
				t.Errorf("%s: %q", c.text, got)
			}
		}
		n := len(r.Platform.SentIn("c1"))
		r.Platform.Press("c1", "dora", "Remove scripted:dora2")
		r.Until("she is told", func() bool { return len(r.Platform.SentIn("c1")) > n })
		if got := r.Platform.SentIn("c1")[n].Text; !strings.Contains(got, "scripted:dora2 is not yours any more") || !strings.Contains(got, "starts empty") {
			t.Errorf("answered %q", got)
		}
		if got := r.Asks("c6", "bob", "/unlink scripted:eve"); !strings.Contains(got, "not yours any more") { // joined at run time
			t.Errorf("answered %q", got)
		}
		if got := r.persons(); got != "carl user scripted:carl; dora user scripted:dora; zoe user console:zoe,gone:zoe,scripted:zoe" {
			t.Errorf("people: %s", got)
		}
		if got := r.Asks("c1", "dora", "/unlink scripted:dora"); !strings.Contains(got, "your last account") {
			t.Errorf("answered %q", got)
		}
		read, err := r.Count("SELECT count(*) FROM sessions s JOIN conversations c ON c.id = s.conversation_id JOIN messages m ON m.session_id = s.id WHERE c.conversation IN ('c2', 'c5') AND (m.id > s.reset_message OR s.person <> '')")
		if err != nil || read != 0 {
			t.Errorf("%d messages are read on: %v", read, err)
		}
		r.Platform.Say("c2", "dora2", "hello")
		r.Until("a stranger wrote", func() bool {
			n, err := r.Count("SELECT count(*) FROM messages WHERE class = 'stranger' AND identity = 'scripted:dora2'")
			return err == nil && n == 1
		})
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "dora", Text: "/unlink"})
		r.Until("not in a group", func() bool { return r.shownIn("g1", "Write /unlink to me in a direct chat") })
	})
}

func TestWhereNoLinkCodeIsShown(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Channel.Groups, r.Channel.DM = "open", "open"
		r.Start()
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "/link"})
		r.Mentions(1, "Write /link to me in a direct chat")
		if got := r.Asks("c9", "eve", "/link"); !strings.Contains(got, "You are not registered with me here") {
			t.Errorf("answered %q", got)
		}
		// Who is let in by an open policy becomes the other person with all they had.
		r.linked("bob", "c2", "eve", "c9")
		if got := r.persons(); got != "" {
			t.Errorf("people: %s", got)
		}
		if got := r.owner("scripted:eve"); got != "bob" {
			t.Errorf("the account is %q", got)
		}
	})
}

// Of those who type a code at once at two engines one is asked, and becomes its maker where both sides
// confirm at once at two engines; both engines know.
func TestTwoEnginesLinkOne(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	routertest.StartBoth(a.Rig, b.Rig)
	a.change(people.ChangeAdd, "dora", core.RoleUser, "scripted:dora")
	code := a.links("c1", "dora")
	var typing sync.WaitGroup
	for i, r := range []*rig{a, b, a, b, a, b} {
		user := fmt.Sprint("p", i)
		e := writes("s"+user, user)
		e.Message.Text = "/link " + code
		typing.Go(func() { r.Accept([]channels.Event{e}...) })
	}
	typing.Wait()
	won := ""
	a.Until("one is asked, and the maker", func() bool {
		for i := range 6 {
			if user := fmt.Sprint("p", i); len(a.Platform.SentIn("s"+user)) > 0 {
				won = user
			}
		}
		return won != "" && len(a.Platform.SentIn("c1")) == 2
	})
	for i, side := range []struct{ conv, user string }{{"s" + won, won}, {"c1", "dora"}} {
		e := writes(side.conv, side.user)
		e.Key = channels.EventKey("confirmed by " + side.user)
		sent := a.Platform.SentIn(side.conv)
		e.Message.Text = "/approve " + pairCode.FindString(sent[len(sent)-1].Text)
		typing.Go(func() { []*rig{b, a}[i].Accept(e) })
	}
	typing.Wait()
	people, err := a.DB.Router().Person(t.Context(), "dora")
	if err != nil || len(people.Identities) != 2 {
		t.Fatalf("%+v %v", people, err)
	}
	for _, r := range []*rig{a, b} {
		r.Until("the engine knows", func() bool { return r.Roster.Identified(people.Identities[1]) != nil })
	}
}
