package approvals_test

import (
	"strings"
	"testing"
	"time"

	"switchboard/channels/channelstest/scripted"
	"switchboard/router/routertest"
)

// A plain yes or no in words decides what a person wished themselves, in a direct chat, where the question is
// the last thing said there.
func TestYesAndNoDecideInWords(t *testing.T) {
	const byButton = "A yes or no in words is not enough for this"
	asks := func(user, what string) scripted.Message {
		return scripted.Message{Conversation: user + "1", User: user, Text: "ask " + what}
	}
	for name, c := range map[string]struct {
		ask  scripted.Message
		next []scripted.Message // one after the other, the last is what decides
		want string             // what is said then
		open bool               // the question is open still
	}{
		"yes":                {asks("ada", `message.send with {}`), []scripted.Message{{Text: "Yes."}}, "accepted once by ada", false},
		"no":                 {asks("ada", `message.send with {}`), []scripted.Message{{Text: "nein"}}, "rejected  by ada", false},
		"a reply to it":      {asks("ada", `message.send with {}`), []scripted.Message{{Text: "sì", ReplyTo: "the question", Quote: "May I"}}, "accepted once by ada", false},
		"of text from afar":  {asks("bob", `schedule.add with {} under taint.later after a page`), []scripted.Message{{Text: "ok"}}, "accepted once by bob", false},
		"a command":          {asks("ada", `rm x`), []scripted.Message{{Text: "yes"}}, byButton, true},
		"a setting":          {asks("ada", `admin.config with {}`), []scripted.Message{{Text: "yes"}}, byButton, true},
		"not plain":          {asks("ada", `message.send with {}`), []scripted.Message{{Text: "yes and no"}}, "re: yes and no", true},
		"after another word": {asks("ada", `message.send with {}`), []scripted.Message{{Text: "hello"}, {Text: "yes"}}, "re: yes", true},
		"forwarded":          {asks("ada", `message.send with {}`), []scripted.Message{{Text: "yes", Forwarded: true}}, "re:", true},
		"a reply elsewhere":  {asks("ada", `message.send with {}`), []scripted.Message{{Text: "yes", ReplyTo: "7", Quote: "x"}}, "re: yes", true},
		"a foreign quote":    {asks("ada", `message.send with {}`), []scripted.Message{{Text: "yes", Quote: "May I"}}, "re: yes", true},
		"written before":     {asks("ada", `message.send with {}`), []scripted.Message{{Text: "yes", At: time.Unix(1, 0)}}, "re: yes", true},
		"another's wish":     {asks("bob", `message.send with {}`), []scripted.Message{{Conversation: "ada1", User: "ada", Text: "yes"}}, byButton, true},
		"another person":     {asks("ada", `message.send with {}`), []scripted.Message{{Conversation: "bob1", User: "bob", Text: "yes"}}, "re: yes", true},
		"in a group": {
			scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "ask message.send with {}"},
			[]scripted.Message{{Conversation: "g1", Kind: "group", User: "ada", Text: "yes"}},
			"re: yes", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.Request()
				r.Channel.Groups, r.Channel.RequireMention = "open", false
				r.Start()
				if name == "another's wish" {
					r.Asks("ada1", "ada", "hello")
				}
				sent := func() {
					r.Until("all is sent", func() bool {
						n, err := r.Count("SELECT count(*) FROM deliveries WHERE state <> 'sent'")
						return err == nil && n == 0
					})
				}
				r.Platform.Write(c.ask)
				r.Until("it is asked", func() bool {
					n, err := r.Count("SELECT count(*) FROM approvals WHERE state = 'proposed'")
					return err == nil && n == 1
				})
				for _, m := range c.next {
					sent()
					if m.Conversation == "" {
						m.Conversation, m.User = c.ask.Conversation, c.ask.User
					}
					before := r.Platform.SentIn(m.Conversation)
					if m.ReplyTo == "the question" {
						m.ReplyTo = string(before[len(before)-1].ID)
					}
					r.Platform.Write(m)
					r.Until("it is answered", func() bool { return len(r.Platform.SentIn(m.Conversation)) > len(before) })
				}
				last := c.next[len(c.next)-1].Conversation
				if last == "" {
					last = c.ask.Conversation
				}
				r.Until("it says "+c.want, func() bool {
					return strings.Contains(strings.Join(routertest.Texts(r.Platform.SentIn(last)), "\n"), c.want)
				})
				if n, err := r.Count("SELECT count(*) FROM approvals WHERE state = 'proposed'"); err != nil || (n == 1) != c.open {
					t.Errorf("%d questions are open, error %v", n, err)
				}
			})
		})
	}
}
