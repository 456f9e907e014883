package telegram

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/secrets"
)

// promise: L.never-deaf
func TestARejectionMayPass(t *testing.T) {
	t.Parallel()
	for name, rejected := range map[string]*telegramtest.Rejection{
		"401": {Code: 401, Description: "Unauthorized"},
		"404": {Code: 404, Description: "Not Found"},
	} {
		for _, method := range []string{"getMe", "getUpdates"} {
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.c.pace.rejected, r.c.pace.rejectedKnown = 500*time.Millisecond, nil
				r.Break(telegramtest.Fault{Method: method, Rejected: rejected})
				if err := r.c.Run(t.Context(), r.sink); !errors.Is(err, channels.ErrUnauthorized) {
					t.Fatalf("Run returned %v", err)
				}
				r.Say(r.ada.ID, "one")
				ctx, stop := context.WithTimeout(t.Context(), patience)
				defer stop()
				calls, asked := len(r.Calls()), 0
				for len(r.sink.Events()) == 0 && ctx.Err() == nil {
					running, end := context.WithTimeout(ctx, 300*time.Millisecond)
					asked++
					if err := r.c.Run(running, r.sink); err != nil && (!errors.Is(err, channels.ErrUnauthorized) || len(r.Calls()) > calls) {
						t.Errorf("Run returned %v after %d calls", err, len(r.Calls())-calls)
					}
					end()
					time.Sleep(5 * time.Millisecond)
				}
				if len(r.sink.Events()) != 1 || asked < 2 {
					t.Errorf("%d events came in %d attempts", len(r.sink.Events()), asked)
				}
			})
		}
	}
}

// A credential that is bad is tried every few minutes; one that was good a moment ago
// twice in the first minute.
func TestWhenARejectedTokenIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := client("http://127.0.0.1:1", "1:x")
	c.pace = defaultPace
	why := channels.ErrUnauthorized
	now := time.Now()
	rests := func(secret secrets.Secret, after time.Duration) bool {
		err := c.rests(secret, now.Add(after))
		if err != nil && (!errors.Is(err, why) || !strings.Contains(err.Error(), "every 5m")) {
			t.Errorf("the reason is %v", err)
		}
		return err != nil
	}
	step := func(want time.Duration) {
		t.Helper()
		c.rejected("1:x", why, now)
		if !rests("1:x", want-time.Second) || rests("1:x", want) || rests("1:y", 0) {
			t.Errorf("it is not tried again after %s", want)
		}
		now = now.Add(want)
	}
	step(5 * time.Minute)
	c.greeted("1:x")
	c.served("1:x")
	step(15 * time.Second)
	c.greeted("1:x") // greeted, and rejected at once: that is not working
	step(30 * time.Second)
	step(5 * time.Minute)
	step(5 * time.Minute)
	c.served("1:x")
	step(15 * time.Second)
}
