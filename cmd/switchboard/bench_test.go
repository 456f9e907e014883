package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/engine"
	"switchboard/configs"
	"switchboard/internal/secrets"
	"switchboard/internal/testkit"
	"switchboard/router"
	"switchboard/store/storetest"
)

// The figures of docs/performance.md: the whole program in one process, on the
// scripted channel, with the built-in model, which answers at once through the
// same client as any other.

func BenchmarkOneUser(b *testing.B)         { benchUsers(b, 1) }
func BenchmarkFiftyUsers(b *testing.B)      { benchUsers(b, 50) }
func BenchmarkTwoHundredUsers(b *testing.B) { benchUsers(b, 200) }

func benchUsers(b *testing.B, users int) {
	eachDatabase(b, func(b *testing.B, url string) { benchUsersOn(b, url, users) })
}

// eachDatabase gives f the address of an empty database; that of SQLite is empty.
func eachDatabase(b *testing.B, f func(b *testing.B, url string)) {
	b.Run("sqlite", func(b *testing.B) { f(b, "") })
	b.Run("postgres", func(b *testing.B) { f(b, storetest.PostgresURL(b)) })
}

// benchUsersOn lets users write b.N messages in all, each waiting for the answer to
// the one before.
func benchUsersOn(b *testing.B, url string, users int) {
	platform := channelstest.NewPlatform()
	answered := make([]chan struct{}, users)
	for i := range answered {
		answered[i] = make(chan struct{}, 1)
	}
	platform.OnSend(func(p scripted.Post) channelstest.Fault {
		var u int
		if _, err := fmt.Sscanf(string(p.Conversation), "c%d", &u); err == nil {
			answered[u] <- struct{}{}
		}
		return channelstest.Fault{}
	})
	e := benchEngine(b, url, users, channelstest.Scripted("play", platform, scripted.DefaultConfig()))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	db := e.DB()
	go func() { done <- e.Run(ctx) }()
	ask(platform, answered, 0) // everything is warm once

	took := make([][]time.Duration, users)
	var left atomic.Int64
	left.Store(int64(b.N))
	batches, cpu := db.Commits().Synced, cpuTime()
	b.ResetTimer()
	var all sync.WaitGroup
	for u := range users {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				began := time.Now()
				ask(platform, answered, u)
				took[u] = append(took[u], time.Since(began))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	report(b, slices.Concat(took...), cpuTime()-cpu, db.Commits().Synced-batches)
	stop()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

func ask(platform *channelstest.Platform, answered []chan struct{}, u int) {
	platform.Say(fmt.Sprintf("c%d", u), fmt.Sprintf("u%d", u), "hello")
	<-answered[u]
}

func report(b *testing.B, took []time.Duration, cpu time.Duration, fsyncs int) {
	percentiles(b, "", took)
	b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "msg/s")
	b.ReportMetric(ms(cpu)/float64(len(took)), "cpu-ms/msg")
	b.ReportMetric(float64(fsyncs)/float64(len(took)), "fsync/msg")
}

// percentiles sorts what something took; nothing did in a first try of one event.
func percentiles(b *testing.B, what string, took []time.Duration) {
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	if what != "" {
		what += "-"
	}
	b.ReportMetric(ms(took[len(took)/2]), what+"p50-ms")
	b.ReportMetric(ms(took[len(took)*99/100]), what+"p99-ms")
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// benchEngine runs on the database of that address (empty: SQLite), and knows users.
func benchEngine(b *testing.B, url string, users int, channel channels.Channel) *engine.Engine {
	b.Helper()
	dir := b.TempDir()
	people := ""
	for u := range users {
		people += fmt.Sprintf("[[people]]\nname = \"u%d\"\nidentities = [\"scripted:u%[1]d\"]\n", u)
	}
	file := filepath.Join(dir, "bench.toml")
	testkit.Write(b, file, "[router]\nrate_person = \"off\"\n"+people)
	settings, _, err := configs.Load(configs.Options{File: file, DataDir: dir, Env: []string{"HOME=" + dir}, Kinds: channels.Kinds{{Name: "scripted"}}})
	if err != nil {
		b.Fatal(err)
	}
	settings.Store.URL = secrets.Secret(url)
	e, err := engine.Open(context.Background(), engine.Mode{Channels: func(_ *configs.Settings, log *slog.Logger) []router.Attached {
		cfg := router.DefaultChannelConfig()
		cfg.Rate = "off"
		return []router.Attached{{Channel: channel, Config: cfg}}
	}}, settings, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	return e
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
