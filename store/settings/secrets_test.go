package settings_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/router/settings"
	"switchboard/store/storetest"
)

func TestSecretsAreSetReplacedAndRemoved(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		change := func(c settings.SecretChange) error {
			return h.Router.Change(h.Ctx, &c, people.LocalActor("owner"))
		}
		set := func(name, sealed string, tools ...string) {
			t.Helper()
			if err := change(settings.SecretChange{Kind: settings.SetSecret, Name: name, Ciphertext: []byte(sealed), Tools: tools}); err != nil {
				t.Fatal(err)
			}
		}
		set("zeta", "sealed-first-of-zeta", "http.*")
		set("alpha", "sealed\x00alpha")
		set("zeta", "sealed-second-of-zeta")
		list, err := h.Router.Secrets(h.Ctx)
		if err != nil || len(list) != 2 {
			t.Fatalf("%+v: %v", list, err)
		}
		for i, want := range []settings.Secret{
			{Name: "alpha", Ciphertext: []byte("sealed\x00alpha"), Tools: []string{}, Person: "owner", Version: 1},
			{Name: "zeta", Ciphertext: []byte("sealed-second-of-zeta"), Tools: []string{"http.*"}, Person: "owner", Version: 2},
		} {
			if list[i].At.IsZero() {
				t.Errorf("%s was set at no time", want.Name)
			}
			if want.At = list[i].At; !reflect.DeepEqual(list[i], want) {
				t.Errorf("%+v, want %+v", list[i], want)
			}
		}
		if err := change(settings.SecretChange{Kind: settings.RemoveSecret, Name: "zeta"}); err != nil {
			t.Fatal(err)
		}
		if err := change(settings.SecretChange{Kind: settings.RemoveSecret, Name: "zeta"}); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("removed twice: %v", err)
		}
		h.WantCount(1, "SELECT count(*) FROM secrets")
		h.WantCount(3, "SELECT count(*) FROM audit WHERE action = 'secret.set' AND person = 'owner' AND data NOT LIKE '%sealed%'")
		h.WantCount(1, "SELECT count(*) FROM audit WHERE action = 'secret.remove' AND target = 'secret zeta'")
		if err := h.DB.EmptyLog(h.Ctx); err != nil {
			t.Fatal(err)
		}
		if path := h.DB.Path(); path != "" { // what was replaced is overwritten
			storetest.CheckFiles(t, path, "sealed-first")
			storetest.CheckFiles(t, path, "sealed-second")
		}
	})
}

// A secret that has to be confirmed is what it was before when nobody confirms it, or it is taken back, and is
// what it was set to otherwise. Nothing else is changed while it waits, but whoever runs the program sets it.
func TestSecretThatIsToBeConfirmed(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.SetPeople(storetest.Root)
		byRoot := core.Actor{Person: "root", Rule: audit.RulePeople}
		set := func(sealed string, within time.Duration) *settings.SecretChange {
			t.Helper()
			c := &settings.SecretChange{Kind: settings.SetSecret, Name: "bot", Ciphertext: []byte(sealed), Within: within, Conversation: "tg:1"}
			if err := h.Router.Change(h.Ctx, c, byRoot); err != nil {
				t.Fatal(err)
			}
			return c
		}
		decide := func(kind settings.ChangeKind, v *settings.Version) {
			t.Helper()
			if err := h.Router.Change(h.Ctx, &settings.Change{Kind: kind, ID: v.ID, Conversation: "tg:1", Counting: v.ID}, byRoot); err != nil {
				t.Fatal(err)
			}
		}
		lapse := func() {
			t.Helper()
			h.Exec("UPDATE settings_versions SET created_at = created_at - 90000000, confirm_by = confirm_by - 90000000 WHERE confirmed_at IS NULL AND lapsed_at IS NULL")
			if list, err := h.Router.LapseSettings(h.Ctx); err != nil || len(list) != 1 || list[0].Secret() != "bot" {
				t.Fatalf("%+v, %v", list, err)
			}
		}
		is := func(when, want string) {
			t.Helper()
			if list, err := h.Router.Secrets(h.Ctx); err != nil || len(list) != 1 || string(list[0].Ciphertext) != want {
				t.Errorf("%s it is %q, not %q: %v", when, list[0].Ciphertext, want, err)
			}
		}
		set("first", 0)
		set("second", time.Minute)
		is("while it waits", "second")
		var refused *core.StateError
		for _, c := range []core.Change{setting(0, map[string]string{"a": "1"}), &settings.SecretChange{Kind: settings.SetSecret, Name: "x", Within: time.Minute}} {
			if err := h.Router.Change(h.Ctx, c, byRoot); !errors.As(err, &refused) {
				t.Errorf("meanwhile: %v", err)
			}
		}
		lapse()
		is("unconfirmed", "first")
		decide(settings.Revert, set("third", time.Minute).Version)
		is("taken back", "first")
		decide(settings.Confirm, set("fourth", time.Minute).Version)
		is("confirmed", "fourth")
		set("fifth", time.Minute)
		set("sixth", 0)
		lapse()
		is("set again meanwhile", "sixth")
		h.WantCount(0, "SELECT count(*) FROM secrets WHERE former IS NOT NULL")
		h.WantCount(2, "SELECT count(*) FROM audit WHERE action = 'config.lapse' AND target = 'settings secret bot'")
	})
}
