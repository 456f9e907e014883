package router_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
)

// A bench is the real agent with the real gate, a few tools, and no model.
type bench struct {
	*rig
	mu     sync.Mutex
	ran    []string
	hold   chan struct{} // not nil: pay waits for it
	policy router.PolicyConfig
}

func newBench(r *rig) *bench {
	b := &bench{rig: r, policy: router.DefaultPolicyConfig()}
	schema := func(of string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{` + of + `},"required":["amount","note"],"additionalProperties":false}`)
	}
	of := `"amount":{"type":"integer","description":"in cents"},"note":{"type":["string","null"]}`
	tool := func(name string, effect tools.Effect) tools.Tool {
		return tools.Tool{Name: name, Summary: "Does " + name + ".", Page: "One line.", Effect: effect, Schema: schema(of), Run: func(ctx context.Context, call tools.Call) tools.Result {
			b.mu.Lock()
			b.ran = append(b.ran, name+string(call.Args))
			hold := b.hold
			b.mu.Unlock()
			if hold != nil && name == "pay" {
				select {
				case <-hold:
				case <-ctx.Done():
				}
			}
			return tools.Result{End: tools.EndOK, Output: name + " is done"}
		}}
	}
	builtin := tools.Builtin(tools.BuiltinConfig{Known: func(ctx context.Context, name string) bool { return b.Router.Roster.Knows(ctx, name) }, Commander: func(ctx context.Context, call tools.Call, name string, args ...string) tools.Result {
		return b.Router.GiveCommand(ctx, call, name, args...)
	}})
	admins := slices.DeleteFunc(builtin, func(t tools.Tool) bool { return !strings.HasPrefix(t.Name, "admin.") })
	registry, err := tools.NewRegistry(append(admins, tool("pay", tools.EffectWrite), tool("wire", tools.EffectOutside), tool("look", tools.EffectRead))...)
	if err != nil {
		b.T.Fatal(err)
	}
	brain, err := agent.New(agent.DefaultConfig(), noModel{}, registry, benchShell{b}, b, slog.New(slog.DiscardHandler), agent.Options{})
	if err != nil {
		b.T.Fatal(err)
	}
	b.Agent, b.Usable, b.Summary, b.Typed = brain, brain.Usable, brain.Summary, brain.Typed
	r.Channel.ToolsDeny = nil
	return b
}

// Decide implements agent.Gate.
func (b *bench) Decide(q tools.Question) tools.Decision {
	rules := func(string) *router.ChannelConfig { return &b.Channel }
	return router.NewPolicy(b.Roster, rules, b.policy).Decide(q)
}

// Confirm implements agent.Gate.
func (b *bench) Confirm(_ context.Context, _ tools.Question, d tools.Decision) tools.Decision {
	return d
}

func (b *bench) did() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.ran)
}

type noModel struct{}

func (noModel) Complete(context.Context, string, llm.Request) (llm.Response, error) {
	return llm.Response{}, fmt.Errorf("%w: there is no model", llm.ErrUnavailable)
}

type benchShell struct{ *bench }

// Run implements agent.Shell.
func (s benchShell) Run(_ context.Context, cmd tools.Command) tools.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, cmd.Line)
	return tools.Result{End: tools.EndOK, Output: "ran " + cmd.Line}
}

const pay = `/tool pay {"amount": 5}`

func TestToolRunsOneToolWithNoModel(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		b := newBench(r)
		r.Start()
		says := func(text string, wants ...string) {
			t.Helper()
			n := len(r.Platform.Sent())
			r.Platform.Say("c1", "ada", text)
			r.Mentions(n+1, wants...)
		}
		says(pay, "pay is done")
		says(`/tool EXEC {"command": "ls"}`, "ran ls")
		says("/tool look `{\"amount\": 1, \"note\": \"x\"}`", "look is done")
		b.Same("what ran", b.did(), []string{`pay{"amount":5,"note":null}`, "ls", `look{"amount":1,"note":"x"}`})
		turns := r.Turns()
		if len(turns) != 3 || turns[0].Outcome != "answered" {
			t.Fatalf("turns %+v", turns)
		}
		turn, err := r.DB.Router().Turn(t.Context(), turns[2].ID, false)
		if err != nil || turn.Calls != 0 || len(turn.Plans) != 1 || len(turn.Plans[0].Tasks) != 1 || turn.Plans[0].Tasks[0].Review != nil {
			t.Errorf("turn %+v, %v", turn, err)
		}

		// What does not fit is answered at once, and makes no turn.
		says("/tool", "exec – Run a command", "pay – Does pay.", "wire", "look")
		says("/tool payy {}", "I have no tool payy; did you mean pay?", "look – Does look.")
		says("/tool pay", "property \"amount\" is missing", "amount: integer – in cents", "note: string, may be left out")
		says("/tool pay {“amount”: 5}", "not valid JSON", "straight quotes")
		says(`/tool exec {"comand": "ls"}`, "comand", "command: string")
		says(`/tool pay {"amount": 5, "note": "`+strings.Repeat("x", 70<<10)+`"}`, "are more than the")
		n := len(r.Platform.Sent())
		says(`/tool look {"amount": 1, "note": "ghp_`+strings.Repeat("aB3", 12)+`"}`, "I hid a part of what you typed")
		r.Await(n + 2) // also that something was hidden
		if len(b.did()) != 3 || len(r.Turns()) != 3 {
			t.Errorf("ran %q in %d turns", b.did(), len(r.Turns()))
		}
		says("/retry", "look is done")
		if ran := b.did(); len(ran) != 4 {
			t.Errorf("the retry ran %q", ran)
		}
	})
}

// The same rules as for a task that was planned: mode, channel, policy and taint.
func TestToolIsUnderTheSameRules(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		b := newBench(r)
		b.policy.Ask = []string{"pay"}
		r.Script.Buttons = true
		r.Start()
		r.Platform.Say("c1", "ada", "/mode ask")
		r.Await(1)
		r.Platform.Say("c1", "ada", pay)
		r.Mentions(2, "I did not run pay (rule session.mode)", "is in mode ask")
		r.Platform.Say("c1", "ada", `/tool look {"amount": 1}`)
		r.Mentions(3, "look is done")
		r.Platform.Say("c1", "ada", "/mode act")
		r.Await(4)
		r.Platform.Say("c2", "bob", `/tool exec {"command": "ls"}`)
		r.Mentions(5, "role.exec")
		if got := b.did(); len(got) != 1 {
			t.Fatalf("ran %q", got)
		}

		// It asks, and waits; what was refused does not run.
		r.Platform.Say("c1", "ada", pay)
		r.Mentions(6, "pay", "policy.ask", "amount: 5")
		r.Platform.Say("c1", "ada", `/tool look {"amount": 2}`)
		r.Mentions(7, "look is done")
		r.Platform.Press("c1", "ada", "Deny")
		r.Mentions(8, "Denied, so I did nothing: ")
		r.Platform.Say("c1", "ada", pay)
		r.Await(9)
		r.End() // decided while another program runs
		r.Start()
		r.Platform.Press("c1", "ada", "Allow once")
		r.Mentions(10, "pay is done")
		if got := b.did(); got[len(got)-1] != `pay{"amount":5,"note":null}` || len(got) != 3 {
			t.Errorf("ran %q", got)
		}
	})
}

// Where outside text was read before, an act outside is asked for, whoever typed its arguments.
func TestToolInATaintedSessionAsks(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		b := newBench(r)
		r.Start()
		r.Platform.Say("c1", "ada", `/tool wire {"amount": 1}`)
		r.Mentions(1, "wire is done")
		r.Platform.Write(scripted.Message{Conversation: "c1", User: "ada", Text: "they wrote this", Forwarded: true, Origin: "eve"})
		n := len(r.Await(2)) // no model: it failed
		r.Platform.Say("c1", "ada", `/tool wire {"amount": 2}`)
		r.Mentions(n+1, "taint.outside", "so I check first", "once only")
		if got := b.did(); len(got) != 1 {
			t.Errorf("ran %q", got)
		}
	})
}

// A dying ledger takes the n-th commit of a step, or does not, and nothing after it.
type dying struct {
	router.Store
	*fuse
}

type fuse struct {
	mu      sync.Mutex
	left    int // commits until it dies; below 0: it lives on
	applied bool
	died    bool
}

func (f *fuse) burn(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.died {
		return routertest.ErrDead
	}
	f.left--
	if f.left != -1 {
		return do()
	}
	f.died = true
	if f.applied {
		return errors.Join(do(), routertest.ErrDead)
	}
	return routertest.ErrDead
}

func (d dying) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (next *core.Claimed, err error) {
	err = d.burn(func() error { next, err = d.Store.Commit(ctx, ref, step, says); return err })
	return next, err
}

func (d dying) ReleaseSession(ctx context.Context, ref core.TurnRef) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.died {
		return routertest.ErrDead
	}
	return d.Store.ReleaseSession(ctx, ref)
}

func (d dying) Claim(ctx context.Context, owner int64, of, except []string, limit int) (list []core.Claimed, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.died {
		return nil, routertest.ErrDead
	}
	return d.Store.Claim(ctx, owner, of, except, limit)
}

// Whichever commit the program dies with, the tool runs once at most and the turn is answered once.
func TestToolKilledAtEveryStepRunsOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		b, f := newBench(r), &fuse{left: -2}
		r.Store = func(l router.Store) router.Store { return dying{l, f} }
		r.Start()
		for n := range 3 {
			for _, applied := range []bool{false, true} {
				conv, before := fmt.Sprintf("c-%d-%v", n, applied), len(b.did())
				f.mu.Lock()
				f.left, f.applied, f.died = n, applied, false
				f.mu.Unlock()
				r.Platform.Say(conv, "ada", pay)
				r.Until("the program dies", func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.died })
				r.End()
				f.mu.Lock()
				f.left, f.died = -2, false
				f.mu.Unlock()
				r.Start()
				r.Until("it is answered", func() bool { return len(r.Platform.SentIn(conv)) > 0 })
				r.AllEnded()
				sent := routertest.Texts(r.Platform.SentIn(conv))
				done := len(sent) == 1 && strings.TrimPrefix(sent[0], "(repeated) ") == "pay is done"
				if ran := len(b.did()) - before; ran > 1 || len(sent) != 1 || !strings.Contains(sent[0], "cut off") && (ran != 1 || !done) {
					t.Errorf("%s: it ran %d times, answered %q", conv, ran, sent)
				}
			}
		}
	})
}

// Nothing is merged into it, in no busy mode, nor is it merged into anything.
func TestToolIsMergedWithNothing(t *testing.T) {
	t.Parallel()
	for _, busy := range []string{"steer", "collect", "queue"} {
		t.Run(busy, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				b := newBench(r)
				b.hold = make(chan struct{})
				r.Config.Busy, r.Config.CollectWindow = busy, 100*time.Millisecond
				r.Start()
				first := r.Platform.Say("c1", "ada", pay)
				r.Until("it runs", func() bool { return len(b.did()) == 1 })
				for _, text := range []string{"hello", `/tool look {"amount": 1}`, "you there?", `/tool look {"amount": 2}`} {
					r.Platform.Say("c1", "ada", text)
				}
				r.Platform.Edit("c1", first, `/tool pay {"amount": 7}`)
				r.Until("all is accepted", func() bool { return r.Platform.Pending() == 0 && len(r.Turns()) == 5 })
				close(b.hold)
				r.AllEnded()
				b.Same("what ran", b.did(), []string{`pay{"amount":5,"note":null}`, `look{"amount":1,"note":null}`, `look{"amount":2,"note":null}`})
				for _, turn := range r.Turns() {
					if turn.State == "merged" || turn.MergedInto != 0 {
						t.Errorf("turn %+v is merged", turn)
					}
				}
			})
		})
	}
}

// What waits is changed by an edit, where that is an order as well or none any more.
func TestEditOfAToolThatWaits(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		b := newBench(r)
		b.hold = make(chan struct{})
		r.Start()
		r.Platform.Say("c1", "ada", pay)
		r.Until("it runs", func() bool { return len(b.did()) == 1 })
		other := r.Platform.Say("c1", "ada", `/tool look {"amount": 1}`)
		plain := r.Platform.Say("c1", "ada", "say something")
		none := r.Platform.Say("c1", "ada", `/tool look {"amount": 9}`)
		r.Until("all is accepted", func() bool { return r.Platform.Pending() == 0 && len(r.Turns()) == 4 })
		r.Platform.Edit("c1", other, `/tool look {"amount": "two"}`)
		r.Mentions(1, "want integer", "Until then I use your message as it was")
		r.Platform.Edit("c1", other, `/tool look {"amount": 2}`)
		r.Platform.Edit("c1", plain, `/tool look {"amount": 3}`)
		r.Platform.Edit("c1", none, "never mind")
		r.Until("all is accepted", func() bool { return r.Platform.Pending() == 0 })
		close(b.hold)
		r.AllEnded()
		b.Same("what ran", b.did(), []string{`pay{"amount":5,"note":null}`, `look{"amount":2,"note":null}`, `look{"amount":3,"note":null}`})
		if turns := r.Turns(); turns[0].Outcome != "model_error" {
			t.Errorf("what is no order any more ended as %+v", turns[0])
		}
	})
}

// One that is hours old is offered by itself, and runs when its person says so.
func TestStaleToolIsOfferedByItself(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		b := newBench(r)
		r.Script.Rich, r.Script.Buttons = true, true
		for i, text := range []string{pay, "hello", `/tool look {"amount": 2}`, `/tool look {"amount": 3}`} {
			r.Platform.Write(routertest.OldMessage("c1", "ada", text, time.Duration(5-i)*time.Hour))
		}
		r.Start()
		r.Await(4)
		r.AllEnded()
		if got := b.did(); len(got) != 0 {
			t.Fatalf("ran %q", got)
		}
		r.Toast(r.Platform.Press("c1", "ada", "Go on"))
		r.Mentions(5, "look is done")
		b.Same("what ran", b.did(), []string{`look{"amount":3,"note":null}`})
	})
}
