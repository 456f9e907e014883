package people_test

import (
	"strings"
	"testing"

	"switchboard/channels/channelstest/scripted"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/router/routertest"
)

// Both sides read who becomes whom, and nothing is changed before both confirm, in whichever order,
// by buttons or typed, also over a restart; a word counts for its own side alone, and once.
func TestBothSidesConfirmALink(t *testing.T) {
	t.Parallel()
	type word struct{ by, does string } // maker or sender; Confirm, Deny: the button, approve, deny: typed
	for _, c := range []struct {
		name, maker, sender string
		words               []word
		owner               string
	}{
		{"a stranger, buttons", "ada", "eve", []word{{"sender", "Confirm"}, {"maker", "Confirm"}}, "ada"},
		{"a stranger, the maker first", "ada", "eve", []word{{"maker", "Confirm"}, {"sender", "Confirm"}}, "ada"},
		{"a stranger, typed", "dora", "eve", []word{{"maker", "approve"}, {"maker", "approve"}, {"sender", "approve"}}, "dora"},
		{"a person", "dora", "carl", []word{{"sender", "Confirm"}, {"maker", "Confirm"}}, "dora"},
		{"a person, the maker first", "dora", "carl", []word{{"maker", "approve"}, {"sender", "Confirm"}}, "dora"},
		{"a person, typed", "dora", "carl", []word{{"sender", "approve"}, {"sender", "approve"}, {"maker", "approve"}}, "dora"},
		{"an admin", "ada", "zoe", []word{{"maker", "Confirm"}, {"sender", "approve"}}, "ada"},
		{"the maker alone", "dora", "carl", []word{{"maker", "Confirm"}, {"maker", "approve"}}, "carl"},
		{"the sender alone", "dora", "eve", []word{{"sender", "Confirm"}, {"sender", "approve"}}, ""},
		{"the maker denies", "ada", "eve", []word{{"sender", "Confirm"}, {"maker", "Deny"}, {"sender", "approve"}, {"maker", "approve"}}, ""},
		{"the sender denies", "dora", "eve", []word{{"maker", "Confirm"}, {"sender", "Deny"}, {"maker", "approve"}, {"sender", "approve"}}, ""},
		{"who confirmed denies", "dora", "carl", []word{{"maker", "approve"}, {"maker", "deny"}, {"sender", "approve"}}, "carl"},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.Script.Rich, r.Script.Buttons = true, true
				r.Start()
				for _, name := range []string{"dora", "carl"} {
					r.change(people.ChangeAdd, name, core.RoleUser, "scripted:"+name)
				}
				r.change(people.ChangeAdd, "zoe", core.RoleAdmin, "scripted:zoe")
				was := r.owner("scripted:" + c.sender)
				code := r.links("c1", c.maker)
				r.Platform.Write(scripted.Message{Conversation: "s9", User: c.sender, Label: "Your *boss*", Text: "/link " + code})
				r.Until("both are asked", func() bool { return len(r.Platform.SentIn("c1")) == 2 && len(r.Platform.SentIn("s9")) == 1 })
				toMaker, toSender := r.Platform.SentIn("c1")[1], r.Platform.SentIn("s9")[0]
				for text, wants := range map[string][]string{
					toMaker.Text:  {"scripted:" + c.sender, "play", "who calls themselves", "wants to become an account of yours", c.maker, was},
					toSender.Text: {"scripted:" + c.sender, "play", "becomes", c.maker, "Confirm it only if", was},
				} {
					for _, want := range wants {
						if !strings.Contains(text, want) {
							t.Errorf("%q lacks %q", text, want)
						}
					}
				}
				codes := map[string]string{"maker": pairCode.FindString(toMaker.Text), "sender": pairCode.FindString(toSender.Text)}
				for conv, typed := range map[string]string{"c1": codes["sender"], "c5": codes["maker"]} {
					if got := r.Asks(conv, c.maker, "/approve "+typed); !strings.Contains(got, "no question with that code") {
						t.Errorf("typed where it was not asked: %q", got)
					}
				}
				if got := r.Asks("c5", "zoe", "/link "+code); !strings.Contains(got, "That code is not valid") {
					t.Errorf("used again: %q", got)
				}
				confirmed := map[string]bool{}
				for i, w := range c.words {
					conv, user := "c1", c.maker
					if w.by == "sender" {
						conv, user = "s9", c.sender
					}
					confirmed[w.by] = true
					if got := r.owner("scripted:" + c.sender); got != was && (i == 0 || len(confirmed) < 2) {
						t.Fatalf("before word %d the account is %q", i+1, got)
					}
					if i == 1 {
						r.End()
						r.Start()
					}
					if w.does == "approve" || w.does == "deny" {
						r.Platform.Say(conv, user, "/"+w.does+" "+codes[w.by])
					} else {
						r.Platform.Press(conv, user, w.does)
					}
					r.decides(w.by, i+1)
				}
				if got := r.owner("scripted:" + c.sender); got != c.owner {
					t.Errorf("the account is %q, want %q", got, c.owner)
				}
				if c.owner == c.maker {
					r.Until("both are told", func() bool {
						return r.shownIn("c1", "Done: both accounts", "Confirmed on both accounts") && r.shownIn("s9", "the same person", "Confirmed on both accounts")
					})
					r.Platform.Say("s9", c.sender, "/whoami")
					r.Until("they are one", func() bool { return r.shownIn("s9", "You are "+c.maker+", role ") })
				}
			})
		})
	}
}

// decides waits until a word was taken in: of all that came there are so many answers and presses.
func (r *rig) decides(by string, words int) {
	r.T.Helper()
	r.Until(by+"'s word is taken", func() bool {
		n, err := r.Count("SELECT count(*) FROM event_keys")
		return err == nil && int(n) >= 5+words // what was written before: the code, its use, three that fail
	})
}

// shownIn says whether one of these texts stands in a conversation.
func (r *rig) shownIn(conv string, texts ...string) bool {
	for _, sent := range r.Platform.SentIn(conv) {
		for _, text := range texts {
			if strings.Contains(sent.Text, text) {
				return true
			}
		}
	}
	return false
}

// Between the question and the answer the account may become somebody's.
func TestLinkIsLookedAtAgainWhenAllowed(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		r.Asks("s9", "eve", "/link "+r.links("c1", "ada"))
		r.Until("she is asked", func() bool { return len(r.Platform.SentIn("c1")) == 2 })
		r.confirm("s9", "eve", "approve")
		typed := pairCode.FindString(r.Platform.SentIn("c1")[1].Text)
		r.End()
		r.People = append(r.People, core.Person{Name: "eve", Role: core.RoleUser, Identities: []string{"scripted:eve"}, Tools: []string{"*"}, Source: core.FromSettings})
		r.Start()
		if got := r.Asks("c1", "ada", "/approve "+typed); !strings.Contains(got, "not open any more") {
			t.Errorf("answered %q", got)
		}
		if got := r.owner("scripted:eve"); got != "eve" {
			t.Errorf("the account is %q", got)
		}
	})
}

// Nobody but the two confirms: not somebody else who presses the button, nor who types the code in
// that chat.
func TestOthersConfirmNoLink(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Rich, r.Script.Buttons = true, true
		r.Start()
		r.change(people.ChangeAdd, "dora", core.RoleUser, "scripted:dora")
		code := r.links("c1", "dora")
		r.Asks("s9", "eve", "/link "+code)
		r.Until("both are asked", func() bool { return len(r.Platform.SentIn("c1")) == 2 })
		ofMaker, ofSender := pairCode.FindString(r.Platform.SentIn("c1")[1].Text), pairCode.FindString(r.Platform.SentIn("s9")[0].Text)
		r.Toasts(r.Platform.Press("c1", "ada", "Confirm"), "This is not for you.")
		r.Toasts(r.Platform.Press("s9", "bob", "Confirm"), "This is not for you.")
		r.Toasts(r.Platform.Press("s9", "dora", "Confirm"), "This is not for you.")
		if got := r.Asks("c1", "bob", "/approve "+ofMaker); !strings.Contains(got, "no question with that code") {
			t.Errorf("answered %q", got)
		}
		n := len(r.Platform.Sent())
		r.Platform.Say("s9", "finn", "/approve "+ofSender) // another stranger
		r.Platform.Press("s9", "finn", "Confirm")
		r.Until("they are kept", func() bool {
			n, err := r.Count("SELECT count(*) FROM messages WHERE identity = 'scripted:finn' AND class = 'stranger'")
			return err == nil && n == 2
		})
		if got := len(r.Platform.Sent()); got != n {
			t.Errorf("a stranger is answered: %q", routertest.Texts(r.Platform.Sent())[n:])
		}
		if got := r.owner("scripted:eve"); got != "" {
			t.Errorf("the account is %q", got)
		}
	})
}

// Who is nobody any more answers no other question in their chat, neither typed nor by a button.
func TestStrangersAnswerNoOtherQuestion(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Start()
		r.change(people.ChangeAdd, "zoe", core.RoleAdmin, "scripted:zoe")
		r.Asks("z1", "zoe", "hello")
		r.Platform.Say("bob1", "bob", "ask make x")
		r.Until("she is asked", func() bool { return len(r.Platform.SentIn("z1")) == 2 })
		code := r.TypedCode(r.Platform.SentIn("z1")[1])
		r.change(people.ChangeRemove, "zoe", "")
		r.Platform.Say("z1", "zoe", "/approve "+code)
		r.Platform.Press("z1", "zoe", "Deny")
		r.Until("they are kept", func() bool {
			n, err := r.Count("SELECT count(*) FROM messages WHERE identity = 'scripted:zoe' AND class = 'stranger'")
			return err == nil && n == 2
		})
		for _, query := range []string{
			"SELECT count(*) FROM approvals WHERE state <> 'proposed'",
			"SELECT count(*) FROM actions WHERE kind = 'approval' AND state <> 'proposed'",
		} {
			if n, err := r.Count(query); n != 0 || err != nil {
				t.Errorf("%s: %d, %v", query, n, err)
			}
		}
	})
}

// Who a question names is who both sides mean: somebody else who is given a name meanwhile, or an
// account that is somebody else's by then, is not joined.
func TestLinkIsOfWhomItNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, first, removed string }{{"another maker", "dora", "dora"}, {"another sender", "carl", "carl"}} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.Start()
				r.change(people.ChangeAdd, "dora", core.RoleUser, "scripted:dora")
				r.change(people.ChangeAdd, "carl", core.RoleUser, "scripted:carl")
				r.Asks("c2", "carl", "/link "+r.links("c1", "dora"))
				r.Until("both are asked", func() bool { return len(r.Platform.SentIn("c1")) == 2 })
				convs := map[string]string{"dora": "c1", "carl": "c2"}
				other := map[string]string{"dora": "carl", "carl": "dora"}[c.first]
				typed := pairCode.FindString(r.Platform.SentIn(convs[other])[len(r.Platform.SentIn(convs[other]))-1].Text)
				r.confirm(convs[c.first], c.first, "approve")
				r.change(people.ChangeRemove, c.removed, "")
				r.change(people.ChangeAdd, c.removed, core.RoleUser, "scripted:else")
				if got := r.Asks(convs[other], other, "/approve "+typed); !strings.Contains(got, "not open any more") {
					t.Errorf("answered %q", got)
				}
				if a, b := r.owner("scripted:else"), r.owner("scripted:"+other); a != c.removed || b != other {
					t.Errorf("the accounts are %q and %q", a, b)
				}
			})
		})
	}
}
