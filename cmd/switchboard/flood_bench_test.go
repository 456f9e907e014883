package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
)

// BenchmarkAcceptUnderFlood tells b.N events of strangers, 5,000 a second, while two
// people have a conversation: how long one commit of what came takes, how long an event
// waits until it is stored, and how long the two wait for their answers.
func BenchmarkAcceptUnderFlood(b *testing.B) {
	eachDatabase(b, benchFlood)
}

func benchFlood(b *testing.B, url string) {
	const perSecond, strangers, people = 5000, 700, 2
	platform := channelstest.NewPlatform()
	answered := [people]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
	platform.OnSend(func(p scripted.Post) channelstest.Fault {
		var u int
		if _, err := fmt.Sscanf(string(p.Conversation), "c%d", &u); err == nil {
			answered[u] <- struct{}{}
		}
		return channelstest.Fault{}
	})
	flooded := &floodedChannel{Channel: channelstest.Scripted("play", platform, scripted.DefaultConfig())}
	e := benchEngine(b, url, people, flooded)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	ask(platform, answered[:], 0) // everything is warm once
	flooded.reset()

	b.ResetTimer()
	over := make(chan struct{})
	var talking sync.WaitGroup
	var took [people][]time.Duration
	for u := range people {
		talking.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				began := time.Now()
				ask(platform, answered[:], u)
				took[u] = append(took[u], time.Since(began))
			}
		})
	}
	began := time.Now()
	for n := range b.N {
		platform.Say(fmt.Sprintf("s%d", n%strangers), fmt.Sprintf("s%d", n%strangers), "buy this")
		if n%20 == 19 {
			time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / perSecond)))
		}
	}
	for platform.Pending() > 0 {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	close(over)
	talking.Wait()
	flooded.mu.Lock()
	percentiles(b, "accept", flooded.accepts)
	percentiles(b, "stored", flooded.waits)
	percentiles(b, "answer", append(took[0], took[1]...))
	b.ReportMetric(float64(len(flooded.waits))/float64(len(flooded.accepts)), "events/accept")
	flooded.mu.Unlock()
	stop()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

// floodedChannel notes how long what it hands in takes.
type floodedChannel struct {
	channels.Channel

	mu             sync.Mutex
	accepts, waits []time.Duration
}

func (c *floodedChannel) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accepts, c.waits = nil, nil
}

// Run implements channels.Channel.
func (c *floodedChannel) Run(ctx context.Context, sink channels.Sink) error {
	return c.Channel.Run(ctx, floodedSink{sink, c})
}

type floodedSink struct {
	channels.Sink
	c *floodedChannel
}

func (s floodedSink) Accept(ctx context.Context, batch []channels.Event) ([]channels.Receipt, error) {
	began := time.Now()
	receipts, err := s.Sink.Accept(ctx, batch)
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.accepts = append(s.c.accepts, time.Since(began))
	for _, e := range batch {
		s.c.waits = append(s.c.waits, time.Since(e.At))
	}
	return receipts, err
}
