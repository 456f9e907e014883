package router_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/people"
	"switchboard/router/routertest"
	"switchboard/router/settings"
)

func (r *rig) submit(s jobs.Submission) jobs.Submitted {
	r.T.Helper()
	done, err := r.Router.Submit(r.T.Context(), s)
	if err != nil {
		r.T.Fatalf("submit %s: %v", s.Key, err)
	}
	return done
}

func submitted(key, person, conv, text string) jobs.Submission {
	return jobs.Submission{
		Key: key, Origin: "job", Person: person, Rule: audit.RuleJob, Text: text,
		To: channels.Conversation{Channel: "play", ID: channels.ConversationID(conv)},
	}
}

func spoken(s jobs.Submission) jobs.Submission {
	s.Say = true
	return s
}

func TestSubmittedTurnIsAnsweredOnceAndIsText(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var terms []agent.Limits
		r.Brain.Think = func(_ context.Context, turn agent.Turn) (string, error) {
			terms = append(terms, turn.Limits)
			return "re: " + turn.Message.Text, nil
		}
		r.Config.RatePerson = "1/h"
		r.Start()
		r.Platform.Say("c1", "bob", "hello")
		r.Await(1)
		s := submitted("k", "bob", "c1", "/reset")
		s.Terms = agent.Limits{NoApprovals: true}
		first := r.submit(s)
		if again := r.submit(s); first.Turn == 0 || !again.Duplicate || again.Turn != 0 {
			t.Errorf("first %+v, again %+v", first, again)
		}
		r.Reads("re: hello", "re: /reset")
		r.HasTurns(2)
		if !slices.Equal(terms, []agent.Limits{{}, {NoApprovals: true}}) {
			t.Errorf("they ran under %+v", terms)
		}
	})
}

func TestSubmittedMessageHasButtonsOfItsPerson(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Rich, r.Script.Buttons = true, true
		r.Channel.AllowConversations = []string{"g1"}
		r.Start()
		r.Platform.Say("c1", "bob", "hello")
		r.Await(1)
		s := spoken(submitted("k", "bob", "c1", "**Stretch**, [x]: y"))
		s.Buttons = []core.Button{{Label: "Who am I", Command: "whoami"}}
		if done := r.submit(s); done.Message == 0 || done.Turn != 0 {
			t.Errorf("%+v", done)
		}
		r.submit(s)
		r.Await(2)
		r.Toasts(r.Platform.Press("c1", "ada", "Who am I"), "This is not for you.")
		r.Toasts(r.Platform.Press("c1", "bob", "Who am I"), "")
		r.Mentions(3, "You are bob")
		r.submit(spoken(submitted("empty", "bob", "c1", "[x]: https://a.example"))) // Markdown that shows nothing
		r.Mentions(4, "a.example")
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", Mentioned: true, User: "bob", Text: "hello"})
		r.Await(5)
		for i, conv := range []string{"g1", "c1"} {
			s := spoken(submitted("for "+conv, "bob", conv, "for one alone"))
			s.InGroup = "for **bob**"
			r.submit(s)
			r.Mentions(6+i, []string{"for bob", "for one alone"}[i])
		}
	})
}

// Of buttons that are one question one is pressed.
func TestEitherButtonIsPressed(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Rich, r.Script.Buttons = true, true
		r.Start()
		r.Platform.Say("c1", "bob", "hello")
		r.Await(1)
		s := spoken(submitted("k", "bob", "c1", "which?"))
		s.Buttons = []core.Button{{Label: "One", Command: "whoami", Either: true}, {Label: "Two", Command: "whoami", Either: true}}
		r.submit(s)
		r.Await(2)
		_, two := r.Code("Two")
		r.Toasts(r.Platform.Press("c1", "bob", "One"), "")
		r.Mentions(3, "You are bob")
		receipts, err := r.Router.Accept(t.Context(), []channels.Event{routertest.Press(100, "bob", two)})
		if err != nil || receipts[0].Toast != "This button was used already." {
			t.Errorf("the other: %+v, %v", receipts, err)
		}
	})
}

func TestSubmitReadsRightsThen(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Channel.AllowConversations = []string{"g1"}
		r.People = append(r.People, core.Person{Name: "eve", Role: core.RoleUser, Identities: []string{"scripted:eve"}, Tools: []string{"*"}, Source: "config"})
		r.Start()
		r.Platform.Say("c1", "bob", "hello")
		r.Platform.Say("c2", "ada", "hello")
		for _, g := range []string{"g1", "g2"} {
			r.Platform.Write(scripted.Message{Conversation: g, Kind: "group", Mentioned: true, User: "bob", Text: "hello"})
		}
		r.Await(3)
		abroad := func(s jobs.Submission) jobs.Submission { s.Abroad = true; return spoken(s) }
		for what, c := range map[string]struct {
			s    jobs.Submission
			want string
		}{
			"nobody":                    {submitted("1", "mallory", "c1", "x"), jobs.RefusedPerson},
			"another's chat":            {submitted("2", "bob", "c2", "x"), jobs.RefusedRights},
			"another's chat, a message": {spoken(submitted("3", "bob", "c2", "x")), jobs.RefusedRights},
			"a turn abroad":             {func() jobs.Submission { s := submitted("4", "bob", "c2", "x"); s.Abroad = true; return s }(), jobs.RefusedRights},
			"a group that is not known": {submitted("5", "bob", "g9", "x"), jobs.RefusedConversation},
			"a group abroad":            {abroad(submitted("6", "bob", "g1", "x")), jobs.RefusedRights},
			"a group not allowed":       {spoken(submitted("7", "bob", "g2", "x")), jobs.RefusedRights},
			"somebody with no chat":     {spoken(submitted("8", "eve", "c1", "x")), jobs.RefusedRights},
		} {
			if got := r.submit(c.s); !strings.HasPrefix(got.Refused, c.want+": ") || got.Turn+got.Message != 0 {
				t.Errorf("%s: %+v, want %s", what, got, c.want)
			}
		}
		for _, s := range []jobs.Submission{spoken(submitted("a", "bob", "g1", "x")), abroad(submitted("b", "bob", "c2", "x")), abroad(submitted("c", "ada", "g1", "x"))} {
			if got := r.submit(s); got.Message == 0 {
				t.Errorf("%s: %+v", s.Key, got)
			}
		}
		r.Await(6)
		if last := r.Platform.SentIn("c2"); !strings.Contains(last[len(last)-1].Text, "bob asked me to tell you") {
			t.Errorf("ada reads %q", routertest.Texts(last))
		}
		rules := r.Channel
		rules.DM, rules.Groups = "disabled", "disabled"
		if err := r.Router.SetRules("play", rules); err != nil {
			t.Fatal(err)
		}
		for _, conv := range []string{"c1", "g1"} {
			if got := r.submit(submitted("closed "+conv, "bob", conv, "x")); !strings.HasPrefix(got.Refused, jobs.RefusedRights+": ") {
				t.Errorf("%s is closed: %+v", conv, got)
			}
		}
		r.Router.Detach("play")
		if _, err := r.Router.Submit(t.Context(), submitted("away", "bob", "c1", "x")); !errors.Is(err, router.ErrNotHere) {
			t.Errorf("with its channel away: %v", err)
		}
	})
}

// guildOf is a channel whose groups are all part of one.
type guildOf struct{ channels.Channel }

func (guildOf) Within(_ context.Context, id channels.ConversationID) (string, error) {
	if id == "g2" {
		return "", errors.New("the platform is away")
	}
	return "guild", nil
}

func TestSubmitKnowsWhatAGroupIsAPartOf(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Channel.AllowConversations = []string{"guild"}
		r.Wrap = func(c channels.Channel) channels.Channel { return guildOf{c} }
		r.Start()
		for _, g := range []string{"g1", "g2"} {
			r.Platform.Write(scripted.Message{Conversation: g, Kind: "group", Mentioned: true, User: "bob", Text: "hello"})
		}
		r.Until("both are known", func() bool {
			for _, g := range []string{"g1", "g2"} {
				if _, err := r.DB.Router().Chat(t.Context(), channels.Conversation{Channel: "play", ID: channels.ConversationID(g)}); err != nil {
					return false
				}
			}
			return true
		})
		if got := r.submit(spoken(submitted("1", "bob", "g1", "x"))); got.Message == 0 {
			t.Errorf("in the guild: %+v", got)
		}
		if got, err := r.Router.Submit(t.Context(), spoken(submitted("2", "bob", "g2", "x"))); err == nil {
			t.Errorf("nobody knows: %+v", got)
		}
	})
}

func TestSubmitToAFullQueueIsBusy(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.QueuePerSession = 1
		release := r.Brain.Held("busy")
		r.Start()
		r.Begins("c1", "bob", "busy")
		if got := r.submit(submitted("1", "bob", "c1", "first")); got.Turn == 0 {
			t.Errorf("%+v", got)
		}
		if got := r.submit(submitted("2", "bob", "c1", "second")); !strings.HasPrefix(got.Refused, jobs.RefusedBusy+": ") {
			t.Errorf("%+v", got)
		}
		release()
		r.Reads("re: busy", "re: first")
	})
}

func TestTellIsSaidOnceWhereSomebodyWroteLast(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		r.Platform.Say("c1", "bob", "hello")
		r.Await(1)
		r.Platform.Say("c2", "bob", "hello")
		r.Await(2)
		r.submit(spoken(submitted("k", "bob", "c1", "job")))
		r.Await(3)
		for range 2 {
			if told, err := r.Router.Tell(t.Context(), "bob", "key", "told"); err != nil || !told {
				t.Fatal(told, err)
			}
		}
		r.Await(4)
		if got := routertest.Texts(r.Platform.SentIn("c2")); !slices.Equal(got, []string{"re: hello", "told"}) {
			t.Errorf("c2 shows %q", got)
		}
		if told, err := r.Router.Tell(t.Context(), "ada", "key", "told"); err != nil || told {
			t.Errorf("who has no chat: %v, %v", told, err)
		}
	})
}

// What the rules of now refuse waits while a change of them waits to be confirmed: it is taken
// when that lapses, and refused once it is confirmed.
func TestSubmitWaitsWhileAChangeMayLapse(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Reload = func(ctx context.Context) error {
			now, err := r.DB.Router().SettingsNow(ctx)
			if err != nil {
				return err
			}
			rules := r.Channel
			if now.Values["a"] == "shut" {
				rules.DM = "disabled"
			}
			return r.Router.SetRules("play", rules)
		}
		r.Start()
		r.Platform.Say("c1", "bob", "hello")
		r.Await(1)
		shut := func(version int64, within time.Duration) {
			t.Helper()
			r.Sets(0, "shut", within)
			r.Until("it counts", func() bool { return r.Router.Settled.Counting() == version })
			if got, err := r.Router.Submit(t.Context(), spoken(submitted("k", "bob", "c1", "stretch"))); !errors.Is(err, settings.ErrUnconfirmed) {
				t.Errorf("while version %d waits: %+v, %v", version, got, err)
			}
			if told, err := r.Router.Tell(t.Context(), "bob", "key", "told"); !errors.Is(err, settings.ErrUnconfirmed) {
				t.Errorf("while version %d waits a person is told %t, %v", version, told, err)
			}
		}
		shut(1, 2*time.Second)
		r.Until("it lapsed", func() bool {
			done, err := r.Router.Submit(t.Context(), spoken(submitted("k", "bob", "c1", "stretch")))
			if done.Refused != "" {
				t.Fatalf("it is refused for good: %s", done.Refused)
			}
			return err == nil
		})
		r.Mentions(2, "stretch")
		shut(2, time.Hour)
		err := r.Router.Change(t.Context(), &settings.Change{Kind: settings.Confirm, Counting: 2, Conversation: "play:c1"}, core.Actor{Person: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.submit(spoken(submitted("late", "bob", "c1", "stretch"))); !strings.HasPrefix(got.Refused, jobs.RefusedRights+": ") {
			t.Errorf("once it is confirmed: %+v", got)
		}
	})
}

// A run that was found due as its owner went away is not refused for good: it waits for them.
func TestSubmitWaitsForWhoIsAway(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		r.Platform.Say("c1", "bob", "hello")
		r.Await(1)
		everybody := func(known bool) {
			t.Helper()
			people := r.People
			if !known {
				people = slices.DeleteFunc(slices.Clone(people), func(p core.Person) bool { return p.Name == "bob" })
			}
			if _, err := r.DB.Router().SetPeople(t.Context(), people); err != nil {
				t.Fatal(err)
			}
		}
		r.Platform.Say("c2", "ada", "hello")
		r.Await(2)
		abroad := spoken(submitted("abroad", "ada", "c1", "call me"))
		abroad.Abroad = true
		everybody(false)
		for _, when := range []string{"the engine does not know yet", "the engine knows"} {
			if got, err := r.Router.Submit(t.Context(), spoken(submitted("k", "bob", "c1", "stretch"))); !errors.Is(err, people.ErrAway) {
				t.Errorf("%s: %+v, %v", when, got, err)
			}
			r.Router.People.Changed(t.Context())
			r.Until("bob is away", func() bool { return r.Roster.Away("bob") })
		}
		if got, err := r.Router.Submit(t.Context(), abroad); !errors.Is(err, people.ErrAway) {
			t.Errorf("to who is away: %+v, %v", got, err)
		}
		everybody(true)
		r.Router.People.Changed(t.Context())
		r.Until("bob is back", func() bool { return r.Roster.Named("bob") != nil })
		if got := r.submit(spoken(submitted("k", "bob", "c1", "stretch"))); got.Refused != "" {
			t.Errorf("once bob is back: %+v", got)
		}
		if got := r.submit(abroad); got.Refused != "" {
			t.Errorf("to bob, once they are back: %+v", got)
		}
		r.Mentions(3, "stretch")
	})
}
