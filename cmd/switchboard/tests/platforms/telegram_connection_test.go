package platforms_test

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// A token that comes later, one that is taken back, and one that somebody else polls
// with: `channel list` says so, nobody is asked in a hot loop, and what can recover
// does, with no message lost.
func TestTelegramConnectionsRecoverWithoutALoss(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	later, revoked := telegramtest.New(t), telegramtest.New(t)
	token := filepath.Join(r.Dir, "token")
	r.Channel("later", later, "file:"+token, "dm = \"open\"")
	r.Channel("revoked", revoked, revoked.Token(), "")
	r.Channel("shared", r.Bot, r.Bot.Token(), "")
	r.Up()
	awaitState := func(name string, want channels.State) (reason string) {
		t.Helper()
		r.Await(name+" is "+string(want), 30*time.Second, func() bool {
			time.Sleep(80 * time.Millisecond)
			s := r.Statuses()[name]
			reason = s.Reason
			return s.State == want
		})
		return reason
	}
	awaitState("shared", channels.StateConnected)
	awaitState("revoked", channels.StateConnected)
	leave := intrude(t, r.Bot)

	if reason := awaitState("later", channels.StateWaiting); !strings.Contains(reason, "no credentials") {
		t.Errorf("without a token: %s", reason)
	}
	if n := len(later.Calls()); n != 0 {
		t.Errorf("%d calls without a token", n)
	}
	eve := later.AddUser("Eve")
	later.Say(eve.ID, "hello?")
	testkit.Write(t, token, later.Token()+"\n")

	revoked.Revoke(revoked.Bot(), true)
	if reason := awaitState("revoked", channels.StateError); !strings.Contains(reason, "rejected the credentials") {
		t.Errorf("a revoked token: %s", reason)
	}
	asked := len(revoked.Calls())

	awaitState("later", channels.StateConnected)
	r.Await("what waited is answered", 10*time.Second, func() bool {
		shown := later.FromBot(eve.ID)
		return len(shown) == 1 && shown[0].Text == "heard: hello?"
	})

	r.Bot.Say(r.Chief.ID, "who hears me?")
	if reason := awaitState("shared", channels.StateError); !strings.Contains(strings.ToLower(reason), "other getupdates request") {
		t.Errorf("somebody else polls: %s", reason)
	}
	if n := len(revoked.Calls()) - asked; n > 2 {
		t.Errorf("%d calls with a revoked token", n)
	}
	leave()
	awaitState("shared", channels.StateConnected)
	r.Bot.Say(r.Chief.ID, "and now?")
	r.Await("both are answered in order", 30*time.Second, func() bool {
		var answers []string
		for _, m := range r.Bot.FromBot(r.Chief.ID) {
			if !strings.HasPrefix(m.Text, "The channel revoked ") { // the admins are notified of it meanwhile
				answers = append(answers, m.Text)
			}
		}
		return slices.Equal(answers, []string{"heard: who hears me?", "heard: and now?"})
	})
	// The stranger comes back at once each time; we pause longer each time.
	n := 0
	for _, call := range r.Bot.Calls("getUpdates") {
		if call.Int("timeout") != 21 { // the stranger's
			n++
		}
	}
	if n > 100 { // it takes about 20
		t.Errorf("%d polls with a shared token", n)
	}
}

// intrude polls with a bot's token, and confirms nothing, until it is told to leave.
func intrude(t *testing.T, bot *telegramtest.Server) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, bot.URL()+"/bot"+bot.Token()+"/getUpdates?timeout=21", http.NoBody)
			if err != nil {
				return
			}
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	leave = func() {
		cancel()
		<-done
	}
	t.Cleanup(leave)
	return leave
}
