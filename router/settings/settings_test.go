package settings_test

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
	"switchboard/router/routertest"
	"switchboard/router/settings"
)

// reloads makes the rig note which version of the settings it goes by.
func (r *rig) reloads() *atomic.Int64 {
	var version atomic.Int64
	r.Reload = func(ctx context.Context) error {
		now, err := r.DB.Router().SettingsNow(ctx)
		version.Store(now.ID)
		return err
	}
	return &version
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
				a.Wakes, b.Wakes = routertest.Deaf, routertest.Deaf
			}
			heard := map[*rig]*routertest.WokenBy{a: a.Listens(), b: b.Listens()}
			first, second := a.reloads(), b.reloads()
			routertest.StartBoth(a.Rig, b.Rig)
			a.Platform.Say("c1", "ada", "hello")
			a.Await(1)
			a.Until("both listen", func() bool { return !told || heard[a].Begun() && heard[b].Begun() })
			is := func(want int64, wakes *routertest.WokenBy, before int) {
				t.Helper()
				a.Until("both go by it", func() bool { return first.Load() == want && second.Load() == want })
				if told {
					a.Until("the other engine is woken", func() bool { return wakes.Count(core.WakeSettings) > before })
				}
			}
			before := heard[a].Count(core.WakeSettings)
			b.Sets(0, "1", 0)
			is(1, heard[a], before)
			before = heard[b].Count(core.WakeSettings)
			began, confirm := time.Now(), 12*time.Second
			if !told {
				confirm += 10 * time.Second // each looks once before its end
			}
			a.Sets(1, "2", confirm)
			is(2, heard[b], before)
			a.Until("both go by the former one", func() bool { return first.Load() == 1 && second.Load() == 1 })
			if told { // by polls alone, which are 10 s apart from the wake on, it takes 20 s
				testkit.Within(t, time.Since(began), confirm+7*time.Second)
			}
			a.Mentions(2, "Nobody confirmed ada's change (version 2), so I took it back: a.")
			time.Sleep(100 * time.Millisecond)
			if sent := a.Platform.Sent(); len(sent) != 2 {
				t.Errorf("the admin reads %q", routertest.Texts(sent))
			}
		})
	}
}

// One that lapsed while nothing ran is noted, and said, at the start.
func TestSettingsThatLapsedWhileNothingRan(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		version := r.reloads()
		r.Start()
		r.Platform.Say("c1", "ada", "hello")
		r.Await(1)
		r.Sets(0, "1", 5*time.Second)
		r.Until("it counts", func() bool { return version.Load() == 1 })
		r.End()
		time.Sleep(5200 * time.Millisecond)
		version.Store(-1)
		r.Start()
		r.Mentions(2, "Nobody confirmed ada's change (version 1)")
		if got := version.Load(); got != -1 { // it began without it
			t.Errorf("it was made to go by version %d", got)
		}
	})
}

// Who asked for a change reads where they asked that it lapsed, or that somebody took it back, and in
// no other chat of theirs; the other admins read of a lapse where they always do.
func TestWhatBecameOfAVersionIsSaidWhereItWasAskedFor(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.People = append(r.People, core.Person{Name: "eve", Role: core.RoleAdmin, Identities: []string{"scripted:eve"}, Source: "config"})
		version := r.reloads()
		r.Start()
		for i, chat := range [][2]string{{"c1", "ada"}, {"c2", "ada"}, {"c3", "eve"}} {
			r.Platform.Say(chat[0], chat[1], "hello")
			r.Await(i + 1)
		}
		r.Sets(0, "1", time.Second)
		reads := func(n int, want map[string]string) {
			t.Helper()
			r.Await(n)
			time.Sleep(100 * time.Millisecond)
			for chat, words := range want {
				said := routertest.Texts(r.Platform.SentIn(chat))[1:]
				if words == "" && len(said) > 0 || words != "" && (len(said) == 0 || !strings.Contains(said[len(said)-1], words)) {
					t.Errorf("%s reads %q, want %q", chat, said, words)
				}
			}
		}
		reads(5, map[string]string{"c1": "Nobody confirmed ada's change (version 1)", "c2": "", "c3": "Nobody confirmed ada's change (version 1)"})
		r.Sets(0, "1", time.Hour)
		r.Until("it counts", func() bool { return version.Load() == 2 })
		err := r.Router.Change(t.Context(), &settings.Change{Kind: settings.Revert, ID: 2, Conversation: "play:c3"}, core.Actor{Person: "eve"})
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
	a.Secrets, b.Secrets = first, second
	a.reloads()
	b.reloads()
	routertest.StartBoth(a.Rig, b.Rig)
	a.Platform.Say("c1", "ada", "hello")
	a.Await(1)
	set := func(sealed string, within time.Duration) {
		t.Helper()
		c := &settings.SecretChange{Kind: settings.SetSecret, Name: "bot", Ciphertext: []byte(sealed), Within: within, Conversation: "play:c1"}
		if err := a.Router.Change(t.Context(), c, core.Actor{Person: "ada", Rule: audit.RulePeople}); err != nil {
			t.Fatal(err)
		}
	}
	is := func(want string) func() bool {
		return func() bool {
			list, err := a.DB.Router().Secrets(t.Context())
			return err == nil && len(list) == 1 && string(list[0].Ciphertext) == want
		}
	}
	set("former", 0)
	set("wrong", 10*time.Second)
	a.Until("the new value counts", is("wrong"))
	a.Until("it counts no longer", is("former"))
	seen := [2]int64{first.changed.Load(), second.changed.Load()}
	a.Until("both engines read it again", func() bool {
		return seen[0] >= 2 && seen[1] >= 2 || first.changed.Load() > seen[0] && second.changed.Load() > seen[1]
	})
	a.Mentions(2, "Nobody confirmed ada's change (version 1), so I took it back: secret bot.")
}
