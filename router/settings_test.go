package router_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/internal/secrets"
	"switchboard/internal/testkit"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/settings"
)

// reloads makes the rig note which version of the settings it goes by.
func (r *rig) reloads() *atomic.Int64 {
	var version atomic.Int64
	r.reload = func(ctx context.Context) error {
		now, err := r.db.Router().SettingsNow(ctx)
		version.Store(now.ID)
		return err
	}
	return &version
}

func (r *rig) sets(base int64, value string, within time.Duration) {
	r.t.Helper()
	err := r.router.Change(r.t.Context(), &settings.Change{
		Kind: settings.Set, Base: base, Values: map[string]string{"a": value}, ConfirmWithin: within, Conversation: "play:c1",
	}, core.Actor{Person: "ada", Rule: audit.RulePeople})
	if err != nil {
		r.t.Error(err)
	}
}

// All engines are woken to go by a version, go by it by polls where the wakes are lost, and by the
// former one when its time is over; the admins read so once.
func TestEnginesGoByTheVersionThatCounts(t *testing.T) {
	t.Parallel()
	for name, told := range map[string]bool{"told": true, "the wakes are lost": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := twins(t)
			if !told {
				a.wakes, b.wakes = deaf, deaf
			}
			heard := map[*rig]*wokenBy{a: a.listens(), b: b.listens()}
			first, second := a.reloads(), b.reloads()
			startBoth(a, b)
			a.platform.Say("c1", "ada", "hello")
			a.await(1)
			a.until("both listen", func() bool { return !told || heard[a].begun() && heard[b].begun() })
			is := func(want int64, wakes *wokenBy, before int) {
				t.Helper()
				a.until("both go by it", func() bool { return first.Load() == want && second.Load() == want })
				if told {
					a.until("the other engine is woken", func() bool { return wakes.count(core.WakeSettings) > before })
				}
			}
			before := heard[a].count(core.WakeSettings)
			b.sets(0, "1", 0)
			is(1, heard[a], before)
			before = heard[b].count(core.WakeSettings)
			began, confirm := time.Now(), 3*time.Second
			if !told {
				confirm += 10 * time.Second // each looks once before its end
			}
			a.sets(1, "2", confirm)
			is(2, heard[b], before)
			a.until("both go by the former one", func() bool { return first.Load() == 1 && second.Load() == 1 })
			if told { // nobody looked meanwhile but for its end: polls are 10 s apart, from the wake on
				testkit.Within(t, time.Since(began), confirm+5*time.Second)
			}
			a.mentions(2, "Nobody confirmed ada's change (version 2), so I took it back: a.")
			time.Sleep(100 * time.Millisecond)
			if sent := a.platform.Sent(); len(sent) != 2 {
				t.Errorf("the admin reads %q", texts(sent))
			}
		})
	}
}

// One that lapsed while nothing ran is noted, and said, at the start.
func TestSettingsThatLapsedWhileNothingRan(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		version := r.reloads()
		r.start()
		r.platform.Say("c1", "ada", "hello")
		r.await(1)
		r.sets(0, "1", time.Second)
		r.until("it counts", func() bool { return version.Load() == 1 })
		r.end()
		time.Sleep(1200 * time.Millisecond)
		version.Store(-1)
		r.start()
		r.mentions(2, "Nobody confirmed ada's change (version 1)")
		if got := version.Load(); got != -1 { // it began without it
			t.Errorf("it was made to go by version %d", got)
		}
	})
}

// Who asked for a change reads where they asked that it lapsed, or that somebody took it back, and in
// no other chat of theirs; the other admins read of a lapse where they always do.
func TestWhatBecameOfAVersionIsSaidWhereItWasAskedFor(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.people = append(r.people, core.Person{Name: "eve", Role: core.RoleAdmin, Identities: []string{"scripted:eve"}, Source: "config"})
		version := r.reloads()
		r.start()
		for i, chat := range [][2]string{{"c1", "ada"}, {"c2", "ada"}, {"c3", "eve"}} {
			r.platform.Say(chat[0], chat[1], "hello")
			r.await(i + 1)
		}
		r.sets(0, "1", time.Second)
		reads := func(n int, want map[string]string) {
			t.Helper()
			r.await(n)
			time.Sleep(100 * time.Millisecond)
			for chat, words := range want {
				said := texts(r.platform.SentIn(chat))[1:]
				if words == "" && len(said) > 0 || words != "" && (len(said) == 0 || !strings.Contains(said[len(said)-1], words)) {
					t.Errorf("%s reads %q, want %q", chat, said, words)
				}
			}
		}
		reads(5, map[string]string{"c1": "Nobody confirmed ada's change (version 1)", "c2": "", "c3": "Nobody confirmed ada's change (version 1)"})
		r.sets(0, "1", time.Hour)
		r.until("it counts", func() bool { return version.Load() == 2 })
		err := r.router.Change(t.Context(), &settings.Change{Kind: settings.Revert, ID: 2, Conversation: "play:c3"}, core.Actor{Person: "eve"})
		if err != nil {
			t.Fatal(err)
		}
		reads(6, map[string]string{"c1": "Version 2 of the settings, which you had to confirm here, was taken back", "c2": "", "c3": "Nobody confirmed ada's change (version 1)"})
	})
}

// A secret that nobody confirms is what it was before, on all engines, and who set it reads so where they did.
func TestSecretThatNobodyConfirms(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	first, second := &safe{mask: secrets.NewMasker()}, &safe{mask: secrets.NewMasker()}
	a.secrets, b.secrets = first, second
	a.reloads()
	b.reloads()
	startBoth(a, b)
	a.platform.Say("c1", "ada", "hello")
	a.await(1)
	set := func(sealed string, within time.Duration) {
		t.Helper()
		c := &settings.SecretChange{Kind: settings.SetSecret, Name: "bot", Ciphertext: []byte(sealed), Within: within, Conversation: "play:c1"}
		if err := a.router.Change(t.Context(), c, core.Actor{Person: "ada", Rule: audit.RulePeople}); err != nil {
			t.Fatal(err)
		}
	}
	is := func(want string) func() bool {
		return func() bool {
			list, err := a.db.Router().Secrets(t.Context())
			return err == nil && len(list) == 1 && string(list[0].Ciphertext) == want
		}
	}
	set("former", 0)
	set("wrong", 2*time.Second)
	a.until("the new value counts", is("wrong"))
	a.until("it counts no longer", is("former"))
	seen := [2]int64{first.changed.Load(), second.changed.Load()}
	a.until("both engines read it again", func() bool {
		return seen[0] >= 2 && seen[1] >= 2 || first.changed.Load() > seen[0] && second.changed.Load() > seen[1]
	})
	a.mentions(2, "Nobody confirmed ada's change (version 1), so I took it back: secret bot.")
}
