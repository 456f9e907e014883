package store_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/router/settings"
	"switchboard/store"
	"switchboard/store/storetest"
)

const toConfirm = time.Minute

func setting(base int64, values map[string]string) *settings.Change {
	return &settings.Change{Kind: settings.Set, Base: base, Values: values}
}

// A settingsModel says what versions of the settings do, with a clock in seconds.
type settingsModel struct {
	db   *store.DB
	r    *store.Router
	ctx  context.Context
	leap func(time.Duration) // sets the clock so much ahead of the real one

	clock int
	list  []modelVersion // by number, from 1
}

type modelVersion struct {
	base              int64
	layer             map[string]string
	person, place     string
	created           int
	waits             bool // it is to be confirmed
	confirmed, lapsed bool
}

// waiting says that a version counts for now.
func (m *settingsModel) waiting(v *modelVersion) bool {
	return v.waits && !v.confirmed && !v.lapsed && m.clock < v.created+60 && m.clock >= v.created-60
}

// now is the number of the version that counts.
func (m *settingsModel) now() int64 {
	for i := len(m.list) - 1; i >= 0; i-- {
		if v := &m.list[i]; !v.waits || v.confirmed || m.waiting(v) {
			return int64(i + 1)
		}
	}
	return 0
}

func (m *settingsModel) layer(id int64) map[string]string {
	if id == 0 {
		return map[string]string{}
	}
	return m.list[id-1].layer
}

func (m *settingsModel) change(t *rapid.T, c *settings.Change, person, refused string) {
	t.Helper()
	err := m.r.Change(m.ctx, c, core.Actor{Person: person, Rule: audit.RulePeople})
	state, is := errors.AsType[*core.StateError](err)
	switch {
	case refused == "" && err != nil:
		t.Fatalf("%s: %v", c.Kind, err)
	case refused != "" && (!is || !strings.Contains(state.Sentence, refused)):
		t.Fatalf("%s: %v, want it refused with %q", c.Kind, err, refused)
	}
}

var (
	modelPeople = rapid.SampledFrom([]string{"ada", "bob"})
	modelPlaces = rapid.SampledFrom([]string{"tg:1", "tg:2"})
)

// Set makes a version of the one that counts, or of another that somebody looked at before.
func (m *settingsModel) Set(t *rapid.T) {
	now := m.now()
	base := now
	if len(m.list) > 0 && rapid.IntRange(0, 4).Draw(t, "stale") == 0 {
		base = int64(rapid.IntRange(0, len(m.list)).Draw(t, "base"))
	}
	layer := maps.Clone(m.layer(base))
	key := rapid.SampledFrom([]string{"a.b", "a.c", "d"}).Draw(t, "key")
	if value := rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "value"); value == "" {
		delete(layer, key)
	} else {
		layer[key] = value
	}
	m.make(t, &settings.Change{Kind: settings.Set, Base: base, Values: layer}, now)
}

// Undo takes a version back, whichever it is.
func (m *settingsModel) Undo(t *rapid.T) {
	if len(m.list) == 0 {
		t.Skip("nothing to undo")
	}
	id := int64(rapid.IntRange(1, len(m.list)).Draw(t, "version"))
	stored, err := m.r.SettingsVersion(m.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	v, now := m.list[id-1], m.now()
	layer := maps.Clone(m.layer(now))
	var differs []string
	for key := range maps.Keys(merged(v.layer, m.layer(v.base))) {
		is, set := v.layer[key]
		was, had := m.layer(v.base)[key]
		if is == was && set == had {
			continue
		}
		if at, there := layer[key]; at != is || there != set {
			differs = append(differs, key)
		}
		if layer[key] = was; !had {
			delete(layer, key)
		}
	}
	set, unset, changed := stored.Undo(m.layer(now))
	if len(changed) != len(differs) {
		t.Fatalf("undo of %d: %v changed since, want %v", id, changed, differs)
	}
	if len(changed) > 0 {
		return
	}
	got := maps.Clone(m.layer(now))
	maps.Copy(got, set)
	for _, key := range unset {
		delete(got, key)
	}
	if diff := cmp.Diff(layer, got); diff != "" {
		t.Fatalf("undo of %d (-want +got)\n%s", id, diff)
	}
	m.make(t, &settings.Change{Kind: settings.Set, Base: now, Values: got, Undoes: id}, now)
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func (m *settingsModel) make(t *rapid.T, c *settings.Change, now int64) {
	person := modelPeople.Draw(t, "person")
	if c.Conversation = modelPlaces.Draw(t, "place"); rapid.Bool().Draw(t, "to be confirmed") {
		c.ConfirmWithin = toConfirm
	}
	switch {
	case now > 0 && m.waiting(&m.list[now-1]):
		m.change(t, c, person, "I change nothing else until then")
	case now != c.Base:
		m.change(t, c, person, "changed meanwhile")
	case cmp.Equal(c.Values, m.layer(now)):
		m.change(t, c, person, "Saved; nothing changes.")
	default:
		m.change(t, c, person, "")
		m.list = append(m.list, modelVersion{
			base: c.Base, layer: c.Values, person: person, place: c.Conversation, created: m.clock, waits: c.ConfirmWithin > 0,
		})
		if c.Version.ID != int64(len(m.list)) || c.Version.Waiting() != (c.ConfirmWithin > 0) {
			t.Fatalf("made %+v", c.Version)
		}
	}
}

// Decide confirms the version that waits, or takes it back.
func (m *settingsModel) Decide(t *rapid.T) {
	person, place, now := modelPeople.Draw(t, "person"), modelPlaces.Draw(t, "place"), m.now()
	c := &settings.Change{Kind: settings.Confirm, Conversation: place, Counting: int64(now)}
	early := rapid.IntRange(0, 3).Draw(t, "counts here") == 0
	if early {
		c.Counting-- // the engine has not followed yet
	}
	takes := rapid.Bool().Draw(t, "take back")
	if takes {
		c.Kind = settings.Revert
	}
	if rapid.Bool().Draw(t, "it is named") {
		c.ID = int64(rapid.IntRange(1, len(m.list)+1).Draw(t, "named"))
	}
	if now == 0 || !m.waiting(&m.list[now-1]) || c.ID != 0 && c.ID != now {
		refused := "No change of the settings waits"
		if c.ID > 0 && c.ID <= int64(len(m.list)) {
			refused = "does not have to be confirmed any more"
			if v := &m.list[c.ID-1]; v.waits && !v.confirmed && !m.waiting(v) {
				refused = "does not count any more"
			}
		}
		m.change(t, c, person, refused)
		return
	}
	v := &m.list[now-1]
	if !takes && (v.person != person || v.place != place) {
		m.change(t, c, person, "Only "+v.person+" can confirm version ")
		return
	}
	if early && !takes {
		m.change(t, c, person, "does not count here yet")
		return
	}
	m.change(t, c, person, "")
	v.confirmed, v.lapsed = !takes, takes
}

// Pass sets the clock ahead, and at times back.
func (m *settingsModel) Pass(t *rapid.T) {
	m.clock += rapid.SampledFrom([]int{25, 25, 25, 75, -25, -75, -3600}).Draw(t, "seconds")
	m.leap(time.Duration(m.clock) * time.Second)
}

// Lapse notes what was not confirmed.
func (m *settingsModel) Lapse(t *rapid.T) {
	lapsed, err := m.r.LapseSettings(m.ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for i := range m.list {
		if v := &m.list[i]; v.waits && !v.confirmed && !v.lapsed && !m.waiting(v) {
			v.lapsed = true
			want++
		}
	}
	if len(lapsed) != want {
		t.Fatalf("%d lapsed, want %d", len(lapsed), want)
	}
}

func (m *settingsModel) Check(t *rapid.T) {
	v, err := m.r.SettingsNow(m.ctx)
	if err != nil {
		t.Fatal(err)
	}
	now := m.now()
	if v.ID != now || !cmp.Equal(v.Values, m.layer(now)) {
		t.Fatalf("version %d with %v counts, want %d with %v", v.ID, v.Values, now, m.layer(now))
	}
	if waiting := now > 0 && m.waiting(&m.list[now-1]); v.Waiting() != waiting {
		t.Fatalf("version %d waits: %t, %+v", now, waiting, v)
	}
	made, err := storetest.Count(m.ctx, m.db, `SELECT count(*) FROM audit WHERE action = 'config.set' AND outcome = 'done' AND data LIKE '%"diff":[{%'`)
	if err != nil || made != int64(len(m.list)) {
		t.Fatalf("%d audit rows of %d versions, %v", made, len(m.list), err)
	}
}

func TestSettingsDoWhatTheirModelDoes(t *testing.T) {
	for kind, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		t.Run(kind, func(t *testing.T) {
			if err := flag.Set("rapid.checks", map[string]string{"sqlite": "40", "postgres": "10"}[kind]); err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(rt *rapid.T) {
				db := open(t)
				m := &settingsModel{db: db, r: db.Router(), ctx: t.Context(), leap: func(by time.Duration) {
					if db.PG() {
						storetest.ServerClock(t, db, by)
					}
					db.SetNow(func() time.Time { return time.Now().Add(by) })
				}}
				rt.Repeat(map[string]func(*rapid.T){
					"set": m.Set, "undo": m.Undo, "decide": m.Decide, "pass": m.Pass, "lapse": m.Lapse, "": m.Check,
				})
				if err := db.Close(); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

// Of many who change the same version at once one does; what the others wanted is not there.
func TestOneOfTwoChangesOfTheSettingsCounts(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		var wait sync.WaitGroup
		made := make(chan int, 8)
		for i := range 8 {
			wait.Go(func() {
				c := setting(0, map[string]string{"a": fmt.Sprint(i)})
				err := h.Router.Change(h.Ctx, c, people.LocalActor("owner"))
				if _, refused := errors.AsType[*core.StateError](err); err == nil {
					made <- i
				} else if !refused || !strings.Contains(err.Error(), "changed meanwhile, to version 1 by owner") {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		now, err := h.Router.SettingsNow(h.Ctx)
		if err != nil || len(made) != 1 || now.Values["a"] != fmt.Sprint(<-made) || now.ID != 1 {
			t.Errorf("%+v, %v, %d were made", now, err, len(made))
		}
		h.wantCount(1, "SELECT count(*) FROM settings_versions")
		h.wantCount(7, "SELECT count(*) FROM audit WHERE action = 'config.set' AND outcome = 'refused'")
	})
}
