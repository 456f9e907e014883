package channelstest_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness joins a platform with a channel that reaches it.
func harness(t *testing.T, p *channelstest.Platform, channel channels.Channel) channelstest.Harness {
	t.Helper()
	return channelstest.Harness{
		Channel:      channel,
		Conversation: channels.Conversation{Channel: channel.Name(), ID: "c1", Kind: channels.Direct, Place: "c1"},
		Say:          func(text string) { p.Say("c1", "u1", text) },
		Garble:       func() { p.Garble([]byte{'{', 0, 0xff}) },
		Repeat:       p.Repeat,
		Pending:      p.Pending,
		Drop:         p.Drop,
		Down: func(on bool) {
			if err := p.Down(on); err != nil {
				t.Error(err)
			}
		},
		Revoke: func() { p.Revoke(true) },
		Calls:  p.Calls,
		Shown: func() []string {
			var texts []string
			for _, s := range p.SentIn("c1") {
				texts = append(texts, s.Text)
			}
			return texts
		},
		LimitNext: func(after time.Duration, whole bool) {
			p.Next(channelstest.Fault{RateLimited: true, RetryAfter: after, Channel: whole})
		},
		RefuseNext: func(temporary bool) { p.Next(channelstest.Fault{Refused: "no", Temporary: temporary}) },
		GoneNext:   func() { p.Next(channelstest.Fault{Gone: true}) },
		LoseNext:   func() { p.Next(channelstest.Fault{LoseAnswer: true}) },
	}
}

var abilities = map[string]scripted.Config{
	"bare":    {MaxText: 500},
	"finder":  {Finder: true},
	"deduper": {Deduper: true, Window: time.Minute},
	"both":    {Finder: true, Deduper: true, Window: time.Minute},
}

// promise: P1.ack-after-commit
func TestScriptedInProcess(t *testing.T) {
	for name, cfg := range abilities {
		t.Run(name, func(t *testing.T) {
			channelstest.Run(t, func(t *testing.T) channelstest.Harness {
				p := channelstest.NewPlatform()
				p.Dedupe(cfg.Window)
				return harness(t, p, channelstest.Scripted("test", p, cfg))
			})
		})
	}
}

// promise: P1.ack-after-commit
func TestScriptedOverSocket(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			channelstest.Run(t, func(t *testing.T) channelstest.Harness {
				p := channelstest.NewPlatform()
				cfg := abilities["both"]
				p.Dedupe(cfg.Window)
				address := "127.0.0.1:0"
				if network == "unix" {
					address = filepath.Join(t.TempDir(), "p.sock")
				}
				server, err := p.Listen(network, address)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(server.Close)
				cfg.Addr = server.Addr()
				if err := cfg.Validate(); err != nil {
					t.Fatal(err)
				}
				return harness(t, p, scripted.New("test", cfg, slog.New(slog.DiscardHandler)))
			})
		})
	}
}
