// Package metrics counts what a running program does, for Prometheus. It stands around the parts where they are wired
// together: what the database has taken is counted behind its commit, and what models and tools did behind the call.
// Nothing here asks the database except a read of /metrics itself.
package metrics

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"switchboard/channels"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/scheduler"
)

const (
	// queueWait is how long one read of /metrics waits for the database; without an answer it has no queue_depth.
	queueWait = 2 * time.Second
	// readsMost is how many reads of /metrics are answered at once.
	readsMost = 4
)

// other is the label of what is not known by name, so that there is a bounded number of them.
const other = "other"

// The values of labels that are known beforehand. Each is there from the start, with 0.
var (
	phases     = []string{phaseWait, phasePlan, phaseAct, phaseReview, phaseWrite, phaseTotal}
	stages     = []string{stageStranger, stageUnreadable, stageMessage, stageQueue, stageTool, stageHTTP}
	deliveries = []outbox.DeliveryState{outbox.DeliverySent, outbox.DeliveryPending, outbox.DeliveryUnknown, outbox.DeliveryDead, outbox.DeliveryDropped}
	runs       = []scheduler.RunState{scheduler.RunDone, scheduler.RunFailed, scheduler.RunMissed, scheduler.RunSkipped}
)

// The phases of a turn.
const (
	phaseWait   = "wait"   // from its message to its beginning
	phasePlan   = "plan"   // one call of the planner
	phaseAct    = "act"    // one use of a tool or command
	phaseReview = "review" // one call of the reviewer
	phaseWrite  = "write"  // one call of the worker, which writes the answer
	phaseTotal  = "total"  // from its message to its end
)

// Where something is refused.
const (
	stageStranger   = "stranger"   // who writes is not served
	stageUnreadable = "unreadable" // an event cannot be read
	stageMessage    = "message"    // a message is empty, too long or too fast
	stageQueue      = "queue"      // too many messages of its session wait
	stageTool       = "tool"       // a rule, a limit or the sandbox says no to a task
	stageHTTP       = "http"       // a call has no right token or scope, or comes too often
)

// Deps are what is read when somebody reads the metrics.
type Deps struct {
	Statuses func() []channels.Status
	Queue    func(ctx context.Context) (jobs.Queue, error)
}

// Metrics are those of one engine. Its methods may be called from several goroutines at once.
type Metrics struct {
	registry *prometheus.Registry
	handler  http.Handler
	deps     Deps
	oldest   atomic.Int64 // when the run that waits longest was to be started, in Unix nanoseconds; 0: none waits

	messages, deliveries, defects, tokens, cost, runs, tools, refused *prometheus.CounterVec
	turns, seconds                                                    *prometheus.HistogramVec
	refusedCalls                                                      prometheus.Counter
}

// What is read from the parts when somebody reads the metrics.
var (
	queueDepth = desc("queue_depth", "Turns that could begin and wait.")
	channelUp  = desc("channel_up", "1: this engine is connected to the channel.", "channel")
	lastEvent  = desc("channel_last_event_seconds", "Seconds since the channel's last event; missing before the first.", "channel")
	jobLag     = desc("job_lag_seconds", "For how long the oldest run that is due has waited for its start.")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("switchboard_"+name, help, labels, nil)
}

// New makes metrics. Deps are given with Read before the first read.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewPedanticRegistry()}
	m.messages = m.counter("messages_total", "Messages that were taken in, or said.", "channel", "direction")
	m.deliveries = m.counter("deliveries_total", "What became of sends; pending is tried again.", "channel", "state")
	m.defects = m.counter("channel_defects_total", "Events that could not be read, and texts that the platform could not.", "channel")
	m.tokens = m.counter("llm_tokens_total", "Tokens of model calls; kind is prompt, cached (from the provider's cache) or output.", "model", "role", "kind")
	m.cost = m.counter("llm_cost_total", "Cost of model calls, in the currency of [budget].", "model")
	m.runs = m.counter("job_runs_total", "Runs of jobs that ended.", "state")
	m.tools = m.counter("tool_runs_total", "Uses of tools and commands.", "tool", "state")
	m.refused = m.counter("refused_total", "What was refused.", "stage")
	m.turns = m.histogram("turn_seconds", "How long the phases of turns take.", []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900}, "phase")
	m.seconds = m.histogram("tool_seconds", "How long uses of tools and commands take.", []float64{.005, .025, .1, .5, 1, 5, 30, 120}, "tool")
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), gauges{m})
	for _, phase := range phases {
		m.turns.WithLabelValues(phase)
	}
	for _, stage := range stages {
		m.refused.WithLabelValues(stage)
	}
	for _, state := range runs {
		m.runs.WithLabelValues(string(state))
	}
	m.refusedCalls = m.refused.WithLabelValues(stageHTTP)
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: readsMost})
	return m
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "switchboard", Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "switchboard", Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}

// Read says what is read when somebody reads the metrics. It is called once, before that.
func (m *Metrics) Read(deps Deps) { m.deps = deps }

// Serves has the counters of a channel be there from the start, with 0.
func (m *Metrics) Serves(channel string) {
	m.messages.WithLabelValues(channel, "in")
	m.messages.WithLabelValues(channel, "out")
	m.defects.WithLabelValues(channel)
	for _, state := range deliveries {
		m.deliveries.WithLabelValues(channel, string(state))
	}
}

// ServeHTTP answers with all metrics in the text format of Prometheus.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// RefusedCall counts a call over HTTP that was refused.
func (m *Metrics) RefusedCall() { m.refusedCalls.Inc() }

// observe adds the time since then to a phase of turns. Clocks of platforms may be ahead of ours.
func (m *Metrics) observe(phase string, since time.Time) {
	m.turns.WithLabelValues(phase).Observe(max(time.Since(since).Seconds(), 0))
}

// gauges reads what is as it is now.
type gauges struct{ *Metrics }

// Describe implements prometheus.Collector.
func (gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{queueDepth, channelUp, lastEvent, jobLag} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m gauges) Collect(to chan<- prometheus.Metric) {
	gauge := func(of *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), queueWait)
	defer cancel()
	if queue, err := m.deps.Queue(ctx); err == nil {
		gauge(queueDepth, float64(queue.Waiting))
	}
	for _, s := range m.deps.Statuses() {
		up := 0.0
		if s.State == channels.StateConnected {
			up = 1
		}
		gauge(channelUp, up, s.Name)
		if !s.LastEvent.IsZero() {
			gauge(lastEvent, time.Since(s.LastEvent).Seconds(), s.Name)
		}
	}
	lag := 0.0
	if oldest := m.oldest.Load(); oldest != 0 {
		lag = max(time.Since(time.Unix(0, oldest)).Seconds(), 0)
	}
	gauge(jobLag, lag)
}
