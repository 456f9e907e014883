package jobs_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"switchboard/agent/tools/host"
	"switchboard/channels"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
)

// A patient is what a health job looks at, and what it said.
type patient struct {
	machine  string  // empty: atlas
	disk     float64 // percent
	memory   float64
	cpu      float64
	queue    jobs.Queue
	queueErr error
	channel  channels.State
	seen     string
	said     []string
	now      time.Time
}

func (p *patient) health() *jobs.Health {
	return &jobs.Health{
		Machine: func(context.Context) host.Reading {
			return host.Reading{
				Host: cmp.Or(p.machine, "atlas"), CPU: p.cpu, Memory: 1000, Used: uint64(p.memory * 10), Disk: 1000, Free: uint64(1000 - p.disk*10),
			}
		},
		Queue: func(context.Context) (jobs.Queue, error) { return p.queue, p.queueErr },
		Channels: func() []channels.Status {
			return []channels.Status{{Name: "tg", State: p.channel}, {Name: "other", State: channels.StateWaiting}}
		},
		Notify: func(_ context.Context, kind outbox.NoticeKind, about, _ string) {
			p.said = append(p.said, string(kind)+" "+about)
		},
	}
}

// look looks so often, as an engine that has just started.
func (p *patient) look(t *testing.T, times int) {
	t.Helper()
	for range times {
		p.now = p.now.Add(5 * time.Minute)
		var err error
		if _, p.seen, err = p.health().Look(t.Context(), p.seen, p.now); err != nil && p.queueErr == nil {
			t.Fatal(err)
		}
	}
}

func TestHealthIsSaidOnceHoweverOftenItIsLooked(t *testing.T) {
	t.Parallel()
	p := &patient{channel: channels.StateConnected, cpu: -1, now: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}
	said := func(when string, want ...string) {
		t.Helper()
		if !slices.Equal(p.said, want) {
			t.Errorf("%s: said %q, want %q", when, p.said, want)
		}
		p.said = nil
	}
	p.look(t, 100)
	said("nothing is wrong")
	p.disk = 96
	p.look(t, 100)
	said("a full disk", "disk disk@atlas not well")
	for range 50 { // around the limit, to and fro
		p.disk = 94
		p.look(t, 1)
		p.disk = 96
		p.look(t, 1)
	}
	said("around the limit")
	if got := jobs.NotWell(p.seen); len(got) != 1 || got[0] != "The disk of atlas with my data is 96 % full; 0.0 GB are free. (since 23 November 08:25 UTC)" {
		t.Errorf("not well: %q", got)
	}
	p.disk = 50
	p.look(t, 100)
	said("room again", "disk disk@atlas well again")
	if got := jobs.NotWell(p.seen); got != nil {
		t.Errorf("not well: %q", got)
	}

	p.cpu = 99
	p.look(t, 2)
	p.cpu = 20
	p.look(t, 1)
	p.cpu = 99
	p.look(t, 2)
	said("busy for a while")
	p.look(t, 1)
	said("busy for long", "health processors@atlas not well")
	p.cpu = -1 // an engine that has just started does not know
	p.look(t, 5)
	said("not known")

	p.memory, p.queue = 97, jobs.Queue{Waiting: 3, Oldest: 20 * time.Minute, Dead: 20}
	p.look(t, 3)
	said("much at once", "health queue@ not well", "health deliveries@ not well", "health memory@atlas not well")
	p.queueErr = errors.New("the database is away")
	p.look(t, 3)
	said("with no database")
	p.queueErr, p.queue.Dead = nil, 12
	p.look(t, 3)
	said("some dead still")

	p.channel = channels.StateError
	p.look(t, 3)
	said("a channel, of which its own watch notifies")
	if got := jobs.NotWell(p.seen); len(got) != 5 {
		t.Errorf("not well: %q", got)
	}
}

// What a machine found that is gone is not unwell for ever.
func TestHealthForgetsAMachineThatIsNoMore(t *testing.T) {
	t.Parallel()
	p := &patient{machine: "old", disk: 96, cpu: -1, channel: channels.StateConnected, now: time.Unix(0, 0)}
	p.look(t, 1)
	p.machine, p.disk = "new", 97
	p.look(t, 12*24)
	if got := jobs.NotWell(p.seen); len(got) != 2 {
		t.Errorf("within a day: %q", got)
	}
	p.look(t, 1)
	if got := jobs.NotWell(p.seen); len(got) != 1 || len(p.said) != 2 {
		t.Errorf("after a day: %q, said %q", got, p.said)
	}
}

func TestHealthForgetsAChannelThatIsNoMore(t *testing.T) {
	t.Parallel()
	p := &patient{channel: channels.StateError, cpu: -1, now: time.Unix(0, 0)}
	p.look(t, 2)
	if got := jobs.NotWell(p.seen); len(got) != 1 {
		t.Errorf("not well: %q", got)
	}
	p.channel = channels.StateDisabled
	p.look(t, 1)
	if got := jobs.NotWell(p.seen); got != nil {
		t.Errorf("not well: %q", got)
	}
	p.seen = "garbage"
	if p.look(t, 1); p.seen != "{}" {
		t.Errorf("what could not be read became %s", p.seen)
	}
}
