package turns_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
)

// A mind is the real agent over scripted models and a scripted shell. It plans two
// commands and a message for whatever it is asked, and pauses where it is told to:
// the boundaries that something new can meet a turn at.
type mind struct {
	*agent.Agent
	t *testing.T

	mu    sync.Mutex
	holds map[string]chan struct{} // by boundary: closed to go on
	dead  chan struct{}            // closed: the program died, nothing goes on
	at    map[string]int           // how often each boundary was reached
	ran   []string                 // commands begun
	plans []string                 // what the planner was asked, from the newest text on
}

// The boundaries inside a turn.
const (
	atPlan   = "plan"   // the planner is asked
	atFirst  = "first"  // the first command runs
	atReview = "review" // between the two commands
	atSecond = "second" // the second command runs
	atWorker = "worker" // the last message is written
)

func newMind(t *testing.T) *mind {
	t.Helper()
	m := &mind{t: t, holds: map[string]chan struct{}{}, dead: make(chan struct{}), at: map[string]int{}}
	registry, err := tools.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	cfg := agent.DefaultConfig()
	cfg.Planner, cfg.Worker, cfg.Reviewer = "planner", "worker", "reviewer"
	m.Agent, err = agent.New(cfg, m, registry, mindShell{m}, routertest.Anything{}, slog.New(slog.DiscardHandler), agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// hold makes the mind wait at a boundary; release lets it go on.
func (m *mind) hold(boundary string) (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := make(chan struct{})
	m.holds[boundary] = held
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.holds[boundary] == held {
			delete(m.holds, boundary)
		}
		close(held)
	})
}

func (m *mind) reach(ctx context.Context, boundary string) error {
	m.mu.Lock()
	m.at[boundary]++
	held, dead := m.holds[boundary], m.dead
	m.mu.Unlock()
	if held == nil {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-dead:
		return routertest.ErrDead
	case <-ctx.Done():
		return ctx.Err()
	}
}

// die ends whatever waits; what is asked later is of another life.
func (m *mind) die() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.holds)
	close(m.dead)
	m.dead = make(chan struct{})
}

func (m *mind) reached(boundary string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at[boundary]
}

func (m *mind) commands() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.ran...)
}

// Complete implements agent.Models.
func (m *mind) Complete(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
	switch model {
	case "reviewer":
		if err := m.reach(ctx, atReview); err != nil {
			return llm.Response{}, err
		}
		return llm.Response{Text: `{"status":"ok","reason":"","learn":null}`}, nil
	case "worker":
		err := m.reach(ctx, atWorker)
		return llm.Response{Text: "re: " + heard(req.User)}, err
	}
	m.mu.Lock()
	m.plans = append(m.plans, req.User)
	m.mu.Unlock()
	if err := m.reach(ctx, atPlan); err != nil {
		return llm.Response{}, err
	}
	if about := heard(req.User); strings.HasPrefix(about, "quick") {
		return llm.Response{Text: routertest.Plan(about, routertest.Task("msg", "say it", "re: "+about))}, nil
	}
	return llm.Response{Text: routertest.Plan(heard(req.User), routertest.Task("exec", "first", ""), routertest.Task("exec", "second", ""), routertest.Task("msg", heard(req.User), ""))}, nil
}

// heard is what a prompt says that the person wants now, as one line: the texts of
// these tests are single words.
func heard(prompt string) string {
	wants := func(text string) (words []string) {
		for _, w := range strings.Fields(text) {
			if strings.HasPrefix(w, "want-") || strings.HasPrefix(w, "quick-") {
				words = append(words, w)
			}
		}
		return words
	}
	if _, detail, ok := strings.Cut(prompt, "## Task\n"); ok {
		return strings.Join(wants(detail), " ")
	}
	before, message, _ := strings.Cut(prompt, "## New message\n")
	_, more, _ := strings.Cut(before, "The person wrote more")
	return strings.Join(append(wants(message), wants(more)...), " ")
}

// A mortal ledger takes nothing any more from the moment on that it accepted a
// certain text: that commit is the last thing the program did.
type mortal struct {
	router.Store
	*death
}

type death struct {
	mu   sync.Mutex
	text string // empty: it lives on
	died bool
}

// at makes the program die with the acceptance of text, which it never hears of.
func (d *death) at(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text, d.died = text, false
}

func (d *death) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.died
}

// dies keeps everything else from being committed meanwhile.
func (d *death) do(f func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.died {
		return routertest.ErrDead
	}
	return f()
}

func (m mortal) Accept(ctx context.Context, owner int64, entries []intake.Entry) (list []intake.Accepted, err error) {
	err = m.do(func() error {
		list, err = m.Store.Accept(ctx, owner, entries)
		for _, e := range entries {
			if m.text != "" && e.Event.Message.Text == m.text && err == nil {
				m.text, m.died, err = "", true, routertest.ErrDead
			}
		}
		return err
	})
	return list, err
}

func (m mortal) Claim(ctx context.Context, owner int64, of, except []string, limit int) (list []core.Claimed, err error) {
	err = m.do(func() error { list, err = m.Store.Claim(ctx, owner, of, except, limit); return err })
	return list, err
}

func (m mortal) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (next *core.Claimed, err error) {
	err = m.do(func() error { next, err = m.Store.Commit(ctx, ref, step, says); return err })
	return next, err
}

func (m mortal) Absorb(ctx context.Context, ref core.TurnRef, from int) (list []agent.Incoming, err error) {
	err = m.do(func() error { list, err = m.Store.Absorb(ctx, ref, from); return err })
	return list, err
}

func (m mortal) ReleaseSession(ctx context.Context, ref core.TurnRef) error {
	return m.do(func() error { return m.Store.ReleaseSession(ctx, ref) })
}

func (m mortal) Begin(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (d *outbox.Delivery, due time.Time, err error) {
	err = m.do(func() error { d, due, err = m.Store.Begin(ctx, hold, conv); return err })
	return d, due, err
}

type mindShell struct{ *mind }

// Run implements agent.Shell.
func (s mindShell) Run(ctx context.Context, cmd tools.Command) tools.Result {
	s.mu.Lock()
	s.ran = append(s.ran, cmd.Line)
	s.mu.Unlock()
	if err := s.reach(ctx, cmd.Line); err != nil {
		return tools.Result{End: tools.EndCancelled, Output: "killed"}
	}
	return tools.Result{End: tools.EndOK, Output: fmt.Sprintf("%s is done", cmd.Line)}
}
