package metrics_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/cmd/switchboard/metrics"
	"switchboard/router"
	"switchboard/router/intake"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/scheduler"
)

// shown is what a read of the metrics shows.
func shown(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func wants(t *testing.T, m *metrics.Metrics, lines ...string) {
	t.Helper()
	text := "\n" + shown(t, m)
	for _, line := range lines {
		if !strings.Contains(text, "\nswitchboard_"+line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
}

func newMetrics() *metrics.Metrics {
	m := metrics.New()
	m.Read(metrics.Deps{
		Statuses: func() []channels.Status { return nil },
		Queue:    func(context.Context) (jobs.Queue, error) { return jobs.Queue{}, nil },
	})
	return m
}

type model struct{}

func (model) Complete(context.Context, string, llm.Request) (llm.Response, error) {
	return llm.Response{Usage: llm.Usage{In: 10, Cached: 4, Out: 3, Cost: .5}}, errors.New("cut off")
}

// What was used counts also where the answer broke off, and a model that no setting names is "other".
func TestModelsAreCountedByTheNamesOfTheSettings(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	models := m.Models(model{}, func(name string) bool { return name == "smart" })
	for _, name := range []string{"smart", "typed/1", "typed/2"} {
		_, _ = models.Complete(t.Context(), name, llm.Request{Role: "planner"})
	}
	wants(
		t, m, `llm_tokens_total{kind="prompt",model="smart",role="planner"} 6`, `llm_tokens_total{kind="cached",model="smart",role="planner"} 4`,
		`llm_tokens_total{kind="output",model="other",role="planner"} 6`, `llm_cost_total{model="other"} 1`, `turn_seconds_count{phase="plan"} 0`,
	)
}

type toolbox struct{ agent.Toolbox }

func (toolbox) Get(name string) (tools.Tool, bool) { return tools.Tool{}, name == "time.now" }

func (toolbox) Run(context.Context, string, tools.Call) tools.Result {
	return tools.Result{End: tools.EndTimeout}
}

type shell struct{}

func (shell) Run(context.Context, tools.Command) tools.Result { return tools.Result{End: tools.EndOK} }

func TestToolsAreCountedByName(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	box := m.Tools(toolbox{})
	box.Run(t.Context(), "time.now", tools.Call{})
	box.Run(t.Context(), "made.up", tools.Call{})
	m.Shell(shell{}).Run(t.Context(), tools.Command{})
	wants(
		t, m, `tool_runs_total{state="timeout",tool="time.now"} 1`, `tool_runs_total{state="timeout",tool="other"} 1`,
		`tool_runs_total{state="ok",tool="exec"} 1`, `tool_seconds_count{tool="exec"} 1`, `turn_seconds_count{phase="act"} 3`,
	)
}

type worker struct{ steps []agent.Step }

func (w worker) Run(ctx context.Context, _ agent.Turn, j agent.Journal) error {
	_, err := j.Resume(ctx)
	for _, step := range w.steps {
		err = errors.Join(err, j.Commit(ctx, step))
	}
	return err
}

type journal struct {
	agent.Journal
	state agent.State
	err   error
}

func (j *journal) Resume(context.Context) (*agent.State, error) { return &j.state, nil }
func (j *journal) Commit(context.Context, agent.Step) error     { return j.err }

// A turn counts by what is committed of it: one that goes on elsewhere, or waits, has neither begun nor ended here.
func TestTurnsAreCountedByTheirCommits(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	turn := agent.Turn{Place: agent.Place{Channel: "api"}, Message: agent.Incoming{At: time.Now().Add(-2 * time.Second)}}
	run := func(j *journal, steps ...agent.Step) { _ = m.Agent(worker{steps}).Run(t.Context(), turn, j) }
	end := agent.Step{Say: make([]agent.Say, 1), End: &agent.End{State: "done"}}
	refused := agent.Step{Tasks: []agent.TaskChange{{State: agent.TaskFailed, Result: &tools.Result{End: tools.EndRefused}}}}
	run(&journal{}, refused, end)
	run(&journal{state: agent.State{Plans: make([]agent.PlanRow, 1)}}, agent.Step{End: &agent.End{State: "waiting"}})
	run(&journal{err: agent.ErrReleased, state: agent.State{Plans: make([]agent.PlanRow, 1)}}, end)
	wants(
		t, m, `turn_seconds_count{phase="wait"} 1`, `turn_seconds_count{phase="total"} 1`, `turn_seconds_bucket{phase="total",le="1"} 0`,
		`refused_total{stage="tool"} 1`, `messages_total{channel="api",direction="out"} 1`, `deliveries_total{channel="api",state="sent"} 1`,
	)
}

type ledger struct {
	router.Store
	accepted []intake.Accepted
}

func (l ledger) Accept(context.Context, int64, []intake.Entry) ([]intake.Accepted, error) {
	return l.accepted, nil
}

func (ledger) Settle(context.Context, outbox.Lease, *outbox.Delivery, outbox.Settlement) (bool, error) {
	return false, nil
}

// What comes again is not counted again, and what is refused is no message that was taken.
func TestMessagesAreCountedOnceAndByWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	event := channels.Event{Kind: channels.EventMessage, Conversation: channels.Conversation{Channel: "play"}}
	say := func(*intake.Accepted) *outbox.Reply { return &outbox.Reply{} }
	entries := []intake.Entry{
		{Event: event, Intent: &intake.TurnIntent{}},
		{Event: event, Intent: &intake.TurnIntent{}},
		{Event: event, Intent: &intake.TurnIntent{}, Say: say},
		{Event: event, Intent: &intake.ControlIntent{Reply: &outbox.Reply{}}},
		{Event: event, Intent: &intake.ControlIntent{Refused: true, Reply: &outbox.Reply{}}},
		{Event: event, Intent: &intake.AuditIntent{Why: intake.AuditStranger}},
		{Event: event, Intent: &intake.AuditIntent{Why: intake.AuditRejected}},
	}
	accepted := make([]intake.Accepted, len(entries))
	accepted[1].Duplicate = true
	accepted[2].Outcome = intake.OutcomeBusy
	store := m.Store(ledger{accepted: accepted})
	if _, err := store.Accept(t.Context(), 1, entries); err != nil {
		t.Fatal(err)
	}
	_, _ = store.Settle(t.Context(), outbox.Lease{}, &outbox.Delivery{Conversation: event.Conversation}, outbox.Settlement{State: outbox.DeliveryUnknown})
	wants(
		t, m, `messages_total{channel="play",direction="in"} 2`, `messages_total{channel="play",direction="out"} 3`,
		`refused_total{stage="queue"} 1`, `refused_total{stage="message"} 1`, `refused_total{stage="stranger"} 1`, `refused_total{stage="unreadable"} 1`,
		`channel_defects_total{channel="play"} 1`, `deliveries_total{channel="play",state="unknown"} 1`,
	)
}

type timetable struct {
	scheduler.Store
	due []scheduler.DueRun
}

func (t *timetable) DueRuns(context.Context, int, scheduler.Reach) ([]scheduler.DueRun, time.Time, error) {
	return t.due, time.Time{}, nil
}
func (*timetable) Claim(context.Context, []scheduler.Claim) error    { return nil }
func (*timetable) Settle(context.Context, []scheduler.Settled) error { return nil }

func TestRunsAreCountedWhenTheyAreOver(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	of := &timetable{due: []scheduler.DueRun{{Run: scheduler.Run{StartAt: time.Now().Add(-time.Hour)}}}}
	store := m.Jobs(of)
	_ = store.Claim(t.Context(), []scheduler.Claim{{Runs: []scheduler.Run{{State: scheduler.RunDue}, {State: scheduler.RunMissed}}}})
	_ = store.Settle(t.Context(), []scheduler.Settled{{State: scheduler.RunDue}, {State: scheduler.RunFailed}})
	_, _, _ = store.DueRuns(t.Context(), 1, scheduler.Reach{})
	wants(t, m, `job_runs_total{state="missed"} 1`, `job_runs_total{state="failed"} 1`, `job_runs_total{state="done"} 0`)
	if !strings.Contains(shown(t, m), "\nswitchboard_job_lag_seconds 3600") {
		t.Error("the lag is not an hour")
	}
	of.due = nil
	_, _, _ = store.DueRuns(t.Context(), 1, scheduler.Reach{})
	wants(t, m, `job_lag_seconds 0`)
}

// Errors of an adapter are texts of ours that its platform cannot read.
func TestErrorsOfAdaptersAreDefects(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	log := m.Log(slog.New(slog.NewTextHandler(io.Discard, nil))).With("channel", "play").WithGroup("g").With("n", 1)
	log.Warn("cut off")
	log.Error("cannot parse")
	wants(t, m, `channel_defects_total{channel="play"} 1`)
}

// A database that does not answer takes the one number away that comes from it, and no more.
func TestGaugesAreReadAsTheyAreNow(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	var fault error
	m.Read(metrics.Deps{
		Statuses: func() []channels.Status {
			return []channels.Status{{Name: "a", State: channels.StateConnected, LastEvent: time.Now()}, {Name: "b", State: channels.StateDeaf}}
		},
		Queue: func(context.Context) (jobs.Queue, error) { return jobs.Queue{Waiting: 7}, fault },
	})
	m.Serves("a")
	wants(t, m, `queue_depth 7`, `channel_up{channel="a"} 1`, `channel_up{channel="b"} 0`, `deliveries_total{channel="a",state="dead"} 0`)
	fault = errors.New("away")
	text := shown(t, m)
	if strings.Contains(text, "\nswitchboard_queue_depth") || strings.Contains(text, `last_event_seconds{channel="b"}`) ||
		!strings.Contains(text, "\ngo_goroutines ") || !strings.Contains(text, "\nprocess_cpu_seconds_total ") {
		t.Error(text)
	}
}

func BenchmarkCounting(b *testing.B) {
	m := newMetrics()
	event := channels.Event{Kind: channels.EventMessage, Conversation: channels.Conversation{Channel: "play"}}
	entries := []intake.Entry{{Event: event, Intent: &intake.TurnIntent{}}}
	store := m.Store(ledger{accepted: make([]intake.Accepted, 1)})
	d := &outbox.Delivery{Conversation: event.Conversation}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = store.Accept(b.Context(), 1, entries)
		_, _ = store.Settle(b.Context(), outbox.Lease{}, d, outbox.Settlement{State: outbox.DeliverySent})
	}
}
