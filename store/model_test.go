package store_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"switchboard/agent"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/store"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

// machine drives a store as engines do, among them some that die, and checks
// after each step what must always be true.
type machine struct {
	db     *store.DB
	r      *store.Router
	ctx    context.Context
	engine *engines.Engine

	accepted map[string]int64   // key → turn
	order    map[string][]int64 // conversation → its open turns, the next first
	where    map[int64]string   // turn → conversation
	ended    map[int64]bool     // turns that have ended
	waits    map[int64]bool     // turns that wait for a decision
	code     map[int64]int64    // turn → its latest code
	asks     int
	decided  map[int64]bool         // turns that are queued again after one
	running  map[int64]core.TurnRef // session → what this engine runs
	stale    []core.TurnRef
	woken    bool // somebody was told, or knows, that a turn waits

	rows   int             // turns there must be, merged ones included
	taken  int             // messages that turns answer
	begun  map[int64]bool  // turns that ran
	steers map[int64]bool  // turns that may be absorbed
	merged map[int64]bool  // turns that were absorbed
	of     map[int64]int64 // message → the turn it was queued as
	edits  int
}

// queued says whether a turn of the conversation waits for its beginning.
func (m *machine) queued(conv string, turn int64) bool {
	return !m.begun[turn] && slices.Contains(m.order[conv], turn)
}

func (m *machine) start(t *rapid.T) {
	e, err := engines.Start(m.ctx, m.db.DB, false)
	if err != nil {
		t.Fatalf("start engine: %v", err)
	}
	if _, err := m.r.SetPeople(m.ctx, []core.Person{{Name: "root", Role: "admin"}}); err != nil {
		t.Fatal(err)
	}
	m.engine, m.running, m.woken = e, map[int64]core.TurnRef{}, true
}

func (m *machine) took(t *rapid.T, c *core.Claimed) {
	conv := m.where[c.TurnID]
	if want := m.order[conv][0]; c.TurnID != want {
		t.Fatalf("claimed turn %d of %s, its head is %d", c.TurnID, conv, want)
	}
	if ref, ok := m.running[c.SessionID]; ok && ref != (core.TurnRef{}) {
		t.Fatalf("session %d claimed twice: %+v and %+v", c.SessionID, ref, c)
	}
	m.running[c.SessionID] = c.TurnRef
	m.begun[c.TurnID] = true
	delete(m.decided, c.TurnID)
	m.stale = slices.DeleteFunc(m.stale, func(ref core.TurnRef) bool { return ref == c.TurnRef }) // under the lease that it waited out
}

// runs says whether a turn was set running, by this engine or one that is dead.
func (m *machine) runs(conv string, turn int64) bool {
	return m.begun[turn] && !m.decided[turn] && slices.Contains(m.order[conv], turn)
}

// leaves takes a turn out of the order of its conversation.
func (m *machine) leaves(turn int64) {
	conv := m.where[turn]
	m.order[conv] = slices.DeleteFunc(m.order[conv], func(t int64) bool { return t == turn })
}

// collects says whether a message that may be collected is.
func (m *machine) collects(conv string) bool {
	open := m.order[conv]
	return len(open) > 0 && !m.begun[open[len(open)-1]] && !m.steers[open[len(open)-1]]
}

// keep notes what became of a message.
func (m *machine) keep(t *rapid.T, key, conv string, e *intake.Entry, a *intake.Accepted) {
	m.rows++
	m.taken++
	m.accepted[key], m.of[a.MessageID] = a.TurnID, a.TurnID
	if a.Merged {
		return
	}
	m.where[a.TurnID], m.steers[a.TurnID] = conv, e.Turn().Mode == "steer" || a.Edited == intake.EditSteers
	m.order[conv] = append(m.order[conv], a.TurnID)
	m.woken = m.woken || a.Waiting
	if a.Claimed != nil {
		m.took(t, a.Claimed)
	}
}

func (m *machine) Accept(t *rapid.T) {
	var batch []intake.Entry
	for range rapid.IntRange(1, 3).Draw(t, "batch") {
		conv := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "conversation")
		e := storetest.Entry(conv, fmt.Sprint(conv, rapid.IntRange(1, 12).Draw(t, "key")), "x")
		e.Turn().MayClaim = rapid.Bool().Draw(t, "may claim")
		e.Turn().Mode = rapid.SampledFrom([]string{"", "steer", "collect"}).Draw(t, "mode")
		batch = append(batch, e)
	}
	out, err := m.r.Accept(m.ctx, m.engine.ID(), batch)
	if err != nil {
		t.Fatalf("accept: %v", err)
	}
	for i, a := range out {
		key, conv := string(batch[i].Event.Key), string(batch[i].Event.Conversation.ID)
		if _, known := m.accepted[key]; known != a.Duplicate {
			t.Fatalf("key %s: known %v, %+v", key, known, a)
		}
		if a.Duplicate {
			continue
		}
		if want := batch[i].Turn().Mode == "collect" && m.collects(conv); a.Merged != want {
			t.Fatalf("key %s: collected %v, want %v", key, a.Merged, want)
		}
		m.keep(t, key, conv, &batch[i], &a)
	}
}

// Edit changes a message, which may never have been taken.
func (m *machine) Edit(t *rapid.T) {
	conv := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "conversation")
	key := fmt.Sprint(conv, rapid.IntRange(1, 12).Draw(t, "key"))
	m.edits++
	e := storetest.Edited(conv, key, fmt.Sprint("edit", m.edits), fmt.Sprint("x", m.edits), "steer")
	e.Turn().MayClaim = rapid.Bool().Draw(t, "may claim")
	turn, known := m.accepted[key]
	want := intake.EditRevised
	switch {
	case !known:
		want = intake.EditNew
	case m.queued(conv, turn):
		want = intake.EditReplaced
	case m.runs(conv, turn):
		want = intake.EditSteers
	}
	out, err := m.r.Accept(m.ctx, m.engine.ID(), []intake.Entry{e})
	if err != nil || out[0].Edited != want || out[0].Duplicate {
		t.Fatalf("edit of %s: %+v, %v; want %s", key, out, err, want)
	}
	if want == intake.EditNew || want == intake.EditSteers {
		m.keep(t, key, conv, &e, &out[0])
	}
}

// Absorb merges what may steer a running turn into it.
func (m *machine) Absorb(t *rapid.T) {
	ref := m.pick(t)
	conv := m.where[ref.TurnID]
	list, err := m.r.Absorb(m.ctx, ref, 1)
	if err != nil {
		t.Fatalf("absorb: %v", err)
	}
	got := map[int64]bool{}
	for _, l := range list {
		got[m.of[l.ID]] = true
	}
	m.order[conv] = slices.DeleteFunc(m.order[conv], func(turn int64) bool {
		may := turn != ref.TurnID && m.steers[turn] && m.queued(conv, turn)
		if may != got[turn] {
			t.Fatalf("turn %d may steer %d: %v, absorbed %v", turn, ref.TurnID, may, got[turn])
		}
		return may
	})
	for turn := range got {
		m.merged[turn] = true
		for key, of := range m.accepted {
			if of == turn {
				m.accepted[key] = ref.TurnID
			}
		}
	}
}

func (m *machine) Claim(t *rapid.T) {
	limit := rapid.IntRange(1, 3).Draw(t, "limit")
	list, err := m.r.Claim(m.ctx, m.engine.ID(), []string{"tg"}, nil, limit)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	for i := range list {
		m.took(t, &list[i])
	}
	m.woken = m.woken && len(list) == limit
}

func (m *machine) pick(t *rapid.T) core.TurnRef {
	if len(m.running) == 0 {
		t.Skip("nothing runs")
	}
	var refs []core.TurnRef
	for _, ref := range m.running {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b core.TurnRef) int { return int(a.TurnID - b.TurnID) })
	return rapid.SampledFrom(refs).Draw(t, "turn")
}

func (m *machine) Commit(t *rapid.T) {
	ref := m.pick(t)
	if rapid.Bool().Draw(t, "only a step") {
		step := agent.Step{Calls: []agent.Call{{Step: fmt.Sprint(ref.Fence)}}}
		if _, err := m.r.Commit(m.ctx, ref, step, nil); err != nil {
			t.Fatalf("commit: %v", err)
		}
		return
	}
	step := storetest.End("done", "answered")
	parks := rapid.Bool().Draw(t, "parks")
	var next *core.Claimed
	var err error
	if parks {
		step = storetest.End("waiting", "")
		step.Ask = &agent.Ask{Tool: "exec", Hash: []byte("hash")}
		m.asks++
		next, err = m.r.Ask(m.ctx, ref, step, storetest.Asked(ref.TurnID*1000+int64(m.asks), m.where[ref.TurnID]))
		m.code[ref.TurnID] = ref.TurnID*1000 + int64(m.asks)
	} else {
		next, err = m.r.Commit(m.ctx, ref, step, nil)
	}
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	m.leaves(ref.TurnID)
	m.waits[ref.TurnID], m.ended[ref.TurnID] = parks, !parks
	delete(m.running, ref.SessionID)
	m.stale = append(m.stale, ref)
	if next != nil {
		m.took(t, next)
	}
}

// Decide queues a turn that waits, ahead of all that are queued, or cancels it.
func (m *machine) Decide(t *rapid.T) {
	var list []int64
	for turn, waits := range m.waits {
		if waits {
			list = append(list, turn)
		}
	}
	if len(list) == 0 {
		t.Skip("nothing waits")
	}
	slices.Sort(list)
	turn := rapid.SampledFrom(list).Draw(t, "waiting")
	delete(m.waits, turn)
	if rapid.IntRange(0, 3).Draw(t, "cancelled") == 0 {
		if _, err := m.r.Cancel(m.ctx, turn, people.LocalActor("owner")); err != nil {
			t.Fatalf("cancel: %v", err)
		}
		m.ended[turn] = true
	} else {
		m.decide(t, turn)
	}
	if a := m.decision(t, turn); a.Decided != 0 {
		t.Fatalf("decided twice: %+v", a)
	}
}

func (m *machine) decision(t *rapid.T, turn int64) intake.Accepted {
	e := storetest.Decides(m.code[turn], m.where[turn], outbox.DoesOnce)
	out, err := m.r.Accept(m.ctx, m.engine.ID(), []intake.Entry{e})
	if err != nil {
		t.Fatalf("decide: %v", err)
	}
	return out[0]
}

func (m *machine) decide(t *rapid.T, turn int64) {
	if a := m.decision(t, turn); a.Decided != turn {
		t.Fatalf("decide: %+v", a)
	}
	conv, at := m.where[turn], 0
	if open := m.order[conv]; len(open) > 0 && m.runs(conv, open[0]) {
		at = 1
	}
	m.order[conv], m.decided[turn], m.woken = slices.Insert(m.order[conv], at, turn), true, true
}

func (m *machine) ReleaseSession(t *rapid.T) {
	ref := m.pick(t)
	if err := m.r.ReleaseSession(m.ctx, ref); err != nil {
		t.Fatalf("give back: %v", err)
	}
	delete(m.running, ref.SessionID)
	m.stale, m.woken = append(m.stale, ref), true
}

func (m *machine) Stale(t *rapid.T) {
	if len(m.stale) == 0 {
		t.Skip("nothing is stale")
	}
	ref := rapid.SampledFrom(m.stale).Draw(t, "stale")
	if _, err := m.r.Commit(m.ctx, ref, storetest.End("failed", "stale"), nil); !errors.Is(err, core.ErrFenced) {
		t.Fatalf("a stale commit of %+v: %v", ref, err)
	}
	if err := m.r.ReleaseSession(m.ctx, ref); err != nil {
		t.Fatalf("a stale give back: %v", err)
	}
}

// Die leaves everything as kill -9 does, and starts again.
func (m *machine) Die(t *rapid.T) {
	if err := storetest.Die(m.ctx, m.db, m.engine.ID()); err != nil {
		t.Fatal(err)
	}
	for _, ref := range m.running {
		m.stale = append(m.stale, ref)
	}
	was := m.stale
	m.start(t)
	if m.db.Kind() == "postgres" {
		// Dead is not replaced: the fence holds until somebody takes over.
		m.Claim(t)
		m.woken = true
		m.stale = slices.DeleteFunc(was, func(ref core.TurnRef) bool {
			now, ok := m.running[ref.SessionID]
			return !ok || now.Fence == ref.Fence
		})
	}
}

func (m *machine) Check(t *rapid.T) {
	turns, err := m.r.Turns(m.ctx, storetest.All, "", 1000)
	if err != nil {
		t.Fatalf("list turns: %v", err)
	}
	if len(turns) != m.rows {
		t.Fatalf("%d turns, want %d", len(turns), m.rows)
	}
	for _, v := range turns {
		conv, own := m.where[v.ID]
		if !own || m.merged[v.ID] {
			if v.State != "merged" {
				t.Fatalf("turn %d is %s, want merged", v.ID, v.State)
			}
			continue
		}
		ended, want := m.ended[v.ID], "queued"
		switch {
		case ended:
			want = "done cancelled"
		case m.waits[v.ID]:
			want = "waiting"
		case m.runs(conv, v.ID):
			want = "running"
		}
		if !strings.Contains(want, v.State) {
			t.Fatalf("turn %d is %s, want %s", v.ID, v.State, want)
		}
		if !ended && !m.waits[v.ID] && len(m.running) == 0 && !m.woken {
			t.Fatalf("turn %d is stranded", v.ID)
		}
	}
}

// drain runs everything to its end; what is left was lost.
func (m *machine) drain(t *rapid.T) {
	for turn, waits := range m.waits {
		if delete(m.waits, turn); waits {
			m.decide(t, turn)
		}
	}
	for {
		for _, ref := range m.running {
			for {
				next, err := m.r.Commit(m.ctx, ref, storetest.End("done", "answered"), nil)
				if err != nil {
					t.Fatalf("drain: %v", err)
				}
				m.leaves(ref.TurnID)
				m.ended[ref.TurnID] = true
				if next == nil {
					break
				}
				ref = next.TurnRef
			}
			delete(m.running, ref.SessionID)
		}
		list, err := m.r.Claim(m.ctx, m.engine.ID(), []string{"tg"}, nil, 10)
		if err != nil {
			t.Fatalf("drain: %v", err)
		}
		if len(list) == 0 {
			break
		}
		for i := range list {
			m.took(t, &list[i])
		}
	}
	for conv, order := range m.order {
		if len(order) > 0 {
			t.Fatalf("conversation %s: turns %v have not ended", conv, order)
		}
	}
	answered, err := storetest.Count(m.ctx, m.db, `SELECT count(*) FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.direction = 'in' AND t.state IN ('done', 'cancelled')`)
	if err != nil || answered != int64(m.taken) {
		t.Fatalf("%d messages of %d are answered, %v", answered, m.taken, err)
	}
}

func TestStoreDoesWhatItsModelDoes(t *testing.T) {
	for kind, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		t.Run(kind, func(t *testing.T) {
			checks := map[string]string{"sqlite": "25", "postgres": "5"}[kind]
			if err := flag.Set("rapid.checks", checks); err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(rt *rapid.T) {
				db := open(t)
				m := &machine{
					db: db, r: db.Router(), ctx: t.Context(), accepted: map[string]int64{}, order: map[string][]int64{},
					where: map[int64]string{}, ended: map[int64]bool{}, waits: map[int64]bool{}, code: map[int64]int64{}, decided: map[int64]bool{}, begun: map[int64]bool{}, steers: map[int64]bool{},
					merged: map[int64]bool{}, of: map[int64]int64{},
				}
				m.start(rt)
				rt.Repeat(map[string]func(*rapid.T){
					"accept": m.Accept, "edit": m.Edit, "absorb": m.Absorb, "claim": m.Claim, "commit": m.Commit, "decide": m.Decide, "give back": m.ReleaseSession, "stale": m.Stale, "die": m.Die, "": m.Check,
				})
				m.drain(rt)
				if err := m.engine.Close(context.Background()); err != nil {
					rt.Fatal(err)
				}
				if err := db.Close(); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}
