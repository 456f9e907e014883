package channelstest_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
)

func post(text string) scripted.Post {
	return scripted.Post{Conversation: "c1", Text: text, Nonce: "n-" + text}
}

func TestPlatformKeepsWhatIsNotConfirmed(t *testing.T) {
	t.Parallel()
	p := channelstest.NewPlatform()
	p.Say("c1", "u1", "one")
	p.Reorder(true)
	p.Repeat(2)
	p.Say("c1", "u1", "two")
	first, err := p.Poll(t.Context(), nil)
	if err != nil || len(first) != 3 || first[0].Event != 2 || first[1].Event != 2 || first[2].Event != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := p.Poll(t.Context(), []int64{first[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first[1:], second); diff != "" {
		t.Error(diff)
	}
}

func TestPlatformIsDeafAndSlowAsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := channelstest.NewPlatform()
		p.Deaf(true)
		p.Say("c1", "u1", "one")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := p.Poll(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a deaf platform told: %v", err)
		}
		p.Deaf(false)
		if updates, err := p.Poll(t.Context(), nil); err != nil || len(updates) != 1 {
			t.Errorf("%v, %v", updates, err)
		}
		p.OnSend(func(post scripted.Post) channelstest.Fault {
			if post.Text == "slow" {
				return channelstest.Fault{Delay: time.Minute}
			}
			return channelstest.Fault{}
		})
		began := time.Now()
		if _, err := p.Post(t.Context(), post("slow")); err != nil || time.Since(began) != time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if _, err := p.Post(t.Context(), post("fast")); err != nil || time.Since(began) != time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if sent := p.Sent(); len(sent) != 2 || sent[0].At.Equal(began) {
			t.Errorf("%+v", sent)
		}
	})
}

func TestPlatformLosesRequestOrAnswer(t *testing.T) {
	t.Parallel()
	p := channelstest.NewPlatform()
	p.Next(channelstest.Fault{LoseRequest: true}, channelstest.Fault{LoseAnswer: true})
	for i, shown := range []int{0, 1} {
		if _, err := p.Post(t.Context(), post("x")); err == nil {
			t.Error("a lost connection is a success")
		}
		if n := len(p.SentIn("c1")); n != shown {
			t.Errorf("after fault %d: %d parts are shown", i, n)
		}
	}
	if n := len(p.Tries()); n != 2 {
		t.Errorf("%d tries", n)
	}
}

func TestPlatformForgetsNonces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := channelstest.NewPlatform()
		p.Dedupe(time.Minute)
		for range 2 {
			if _, err := p.Post(t.Context(), post("x")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if _, err := p.Post(t.Context(), post("x")); err != nil {
			t.Fatal(err)
		}
		if n := len(p.Sent()); n != 2 {
			t.Errorf("%d parts are shown, want one a window", n)
		}
	})
}

func TestAwaitEndsWithItsConditionOrContext(t *testing.T) {
	t.Parallel()
	p := channelstest.NewPlatform()
	go func() { _, _ = p.Post(context.Background(), post("x")) }()
	if err := p.Await(t.Context(), func() bool { return len(p.Sent()) == 1 }); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Await(ctx, func() bool { return false }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A process that dies with events in hand gets them again, and a send cut off on
// the way is unknown.
func TestServerOutlivesItsClients(t *testing.T) {
	t.Parallel()
	p := channelstest.NewPlatform()
	server, err := p.Listen("unix", filepath.Join(t.TempDir(), "p.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := p.Listen("unix", "/nowhere/at/all.sock"); err == nil {
		t.Error("a socket was made nowhere")
	}
	cfg := scripted.Config{Addr: server.Addr()}
	p.Say("c1", "u1", "one")
	for range 2 {
		updates, err := scripted.NewClient(cfg).Poll(t.Context(), nil)
		if err != nil || len(updates) != 1 {
			t.Fatalf("%v, %v", updates, err)
		}
	}
	p.Next(channelstest.Fault{Delay: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_ = p.Await(ctx, func() bool { return len(p.Tries()) == 1 })
		cancel()
	}()
	_, err = scripted.NewClient(cfg).Post(ctx, post("x"))
	if err == nil || errors.Is(err, channels.ErrNotConnected) {
		t.Errorf("a send cut off is %v", err)
	}
}

func TestConfigFaultsNameTheirKeys(t *testing.T) {
	t.Parallel()
	bad := scripted.Config{Window: -1, MaxText: -1}
	err := bad.Validate()
	for _, key := range []string{"addr", "window", "max_text"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s is not named: %v", key, err)
		}
	}
	good := scripted.DefaultConfig()
	good.Addr = "127.0.0.1:1"
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

func TestAbilitiesAreThoseOfTheConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range abilities {
		channel := scripted.New("x", cfg, slog.New(slog.DiscardHandler))
		_, finder := channel.(channels.Finder)
		_, deduper := channel.(channels.Deduper)
		if finder != cfg.Finder || deduper != cfg.Deduper {
			t.Errorf("%s: finder %v, deduper %v", name, finder, deduper)
		}
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add([]byte(`{"id":"m","conversation":"c","user":"u","text":"x"}`))
	f.Add([]byte(`{"kind":"odd"}`))
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := channelstest.NewPlatform()
		p.Garble(data)
		sink := channelstest.NewSink()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- channelstest.Scripted("x", p, scripted.Config{}).Run(ctx, sink) }()
		if err := sink.Await(t.Context(), func() bool { return len(sink.Events()) == 1 }); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		e := sink.Events()[0]
		whole := e.Kind == channels.EventMessage && e.Message.ID != "" && e.Conversation.ID != "" && e.Sender.ID != ""
		kept := e.Kind == channels.EventUndecodable && e.Reason != "" && string(e.Raw) == string(data)
		if e.Key == "" || (!whole && !kept) {
			t.Errorf("%+v", e)
		}
	})
}
