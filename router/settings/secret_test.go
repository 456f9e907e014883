package settings_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/internal/secrets"
	"switchboard/internal/testkit"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/router/routertest"
	"switchboard/router/settings"
	"switchboard/store/storetest"
)

func TestSecretsAreListedByTen(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Secrets = &safe{mask: secrets.NewMasker()}
		r.Script.Rich, r.Script.Buttons = true, true
		r.Start()
		for i := range 12 {
			c := &settings.SecretChange{Kind: settings.SetSecret, Name: fmt.Sprintf("name_%02d", i), Ciphertext: []byte("sealed")}
			if err := r.DB.Router().Change(t.Context(), c, people.LocalActor("ada")); err != nil {
				t.Fatal(err)
			}
		}
		r.Platform.Say("c1", "ada", "/secret list")
		r.Mentions(1, "name_00", "name_09")
		r.Toasts(r.Platform.Press("c1", "ada", "More secrets"), "")
		r.Mentions(2, "name_10", "name_11")
		if sent := r.Platform.Sent(); strings.Contains(sent[0].Text, "name_10") || strings.Contains(sent[1].Text, "name_09") || len(sent[1].Buttons) > 0 {
			t.Errorf("%q", routertest.Texts(sent))
		}
	})
}

// A safe stands for the program's encrypted store.
type safe struct {
	mask    *secrets.Masker
	changed atomic.Int64
}

func (s *safe) Seal(value secrets.Secret) ([]byte, error) {
	if len(value) < secrets.MinLength {
		return nil, errors.New("a secret has at least 6 characters")
	}
	s.mask.Add(value)
	return []byte("sealed"), nil
}

func (s *safe) UsedBy(name string) []string {
	if name == "bot" {
		return []string{"channels.play.token"}
	}
	return nil
}

func (s *safe) Changed(context.Context) error {
	s.changed.Add(1)
	return nil
}

func TestSecretIsSetInADirectChat(t *testing.T) {
	const value = "canary-of-the-chat 4711\nin two lines"
	each(t, func(t *testing.T, r *rig) {
		var log testkit.Log
		r.Log, r.Mask = &log, secrets.NewMasker()
		s := &safe{mask: r.Mask}
		r.Secrets = s
		r.Script.Rich, r.Script.Removes = true, true
		r.Channel.AllowConversations = []string{"room"}
		r.Start()
		n := 0
		answers := func(user, text string, words ...string) {
			t.Helper()
			n++
			e := routertest.Event(n, "c-"+user, user, text)
			e.Message.ID = channels.MessageID(fmt.Sprint("typed", n)) // apart from the bot's own
			if user == "room" {
				e.Conversation.ID, e.Conversation.Kind, e.Conversation.Place, e.Sender.ID, e.Message.Mentioned = "room", channels.Group, "room", "ada", true
			}
			before := len(r.Platform.Sent())
			r.Accept(e)
			sent := r.Await(before + 1)
			if strings.Contains(text, "set") && !strings.Contains(sent[before].Text, "is set") && len(words) > 1 {
				sent = r.Await(before + 2) // and what was hidden
			}
			said := strings.Join(routertest.Texts(sent[before:]), "\n")
			for _, word := range words {
				if !strings.Contains(said, word) {
					t.Errorf("%s: %q, without %q", text[:min(len(text), 20)], said, word)
				}
			}
		}
		answers("ada", "/secret", "/secret set NAME VALUE")
		answers("ada", "/secret list", "No secret is set")
		answers("ada", "/secret set bot "+value, "The secret bot is set, for channels.play.token. I'm connecting to this chat with it now. Confirm it here within 60 s with /config confirm, else the former value is used again. I'm deleting your message")
		r.Router.Settled.BeganBy(1)
		if err := r.Router.Change(t.Context(), &settings.Change{Kind: settings.Confirm, Conversation: "play:c-ada", Counting: 1}, core.Actor{Person: "ada", Rule: audit.RulePeople}); err != nil {
			t.Error(err)
		}
		answers("ada", "/secret set key other-value-1", "The secret key is set. I'm deleting your message")
		answers("ada", "/secret set key tiny", "Nothing was set: a secret has at least 6 characters", "what followed the command")
		answers("ada", "/secret set a/b some-value-2", "nothing was set", "what followed the command")
		answers("bob", "/secret set key some-value-3", "I do not know /secret", "what followed the command")
		answers("room", "/secret set key some-value-4", "in a direct chat with me.", "what followed the command")
		answers("ada", "/secret list", "bot, set by ada on ", "used by channels.play.token", "key, set by ada on ")
		answers("ada", "/secret remove bot", "bot is used by channels.play.token; change that first")
		answers("ada", "/secret remove key", "The secret key is taken away.")
		answers("ada", "/secret remove key", "There is no secret key.")
		r.Until("the messages with values are deleted", func() bool { return len(r.Platform.Changes(scripted.OpDelete)) == 5 })
		// Each is deleted on its own, in whatever order.
		if !slices.ContainsFunc(r.Platform.Changes(scripted.OpDelete), func(c scripted.Change) bool { return c.ID == "typed3" }) {
			t.Errorf("deleted are %+v, without typed3", r.Platform.Changes(scripted.OpDelete))
		}
		r.Until("the program goes on with them", func() bool { return s.changed.Load() >= 2 })
		r.Platform.NextChange(channelstest.Fault{Refused: "message can't be deleted"})
		answers("ada", "/secret set bot some-value-5", "is set")
		r.Until("it is said that it stays", func() bool {
			return strings.Contains(strings.Join(routertest.Texts(r.Platform.Sent()), "\n"), "I could not delete your message")
		})
		r.End()
		list, err := r.DB.Router().Secrets(t.Context())
		if err != nil || len(list) != 1 || list[0].Name != "bot" || list[0].Version != 2 || list[0].Person != "ada" || string(list[0].Ciphertext) != "sealed" {
			t.Errorf("%+v: %v", list, err)
		}
		if found, err := r.Count("SELECT count(*) FROM audit WHERE action IN ('secret.set', 'secret.remove') AND outcome = 'done' AND person = 'ada'"); err != nil || found != 4 {
			t.Errorf("%d changes are in the audit log: %v", found, err)
		}
		if err := r.DB.EmptyLog(t.Context()); err != nil {
			t.Fatal(err)
		}
		for where, text := range map[string]string{"the database": storetest.Traces(t, r.DB), "the log": log.String(), "the platform": strings.Join(routertest.Texts(r.Platform.Sent()), "\n")} {
			for _, part := range []string{"canary", "two lines", "other-value", "tiny", "some-value"} {
				if i := strings.Index(text, part); i >= 0 {
					t.Errorf("%s has %q: %s", where, part, text[max(0, i-100):i+20])
				}
			}
		}
	})
}
