package telegram

import (
	"context"
	"errors"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/telegram/telegramtest"
)

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
				r.c.Refused.Every, r.c.Refused.Known = 3*time.Second, nil
				r.Break(telegramtest.Fault{Method: method, Rejected: rejected})
				if err := r.c.Run(t.Context(), r.Sink); !errors.Is(err, channels.ErrUnauthorized) {
					t.Fatalf("Run returned %v", err)
				}
				r.Say(r.ada.ID, "one")
				ctx, stop := context.WithTimeout(t.Context(), patience)
				defer stop()
				calls, asked := len(r.Calls()), 0
				for len(r.Sink.Events()) == 0 && ctx.Err() == nil {
					running, end := context.WithTimeout(ctx, 300*time.Millisecond)
					asked++
					if err := r.c.Run(running, r.Sink); err != nil && (!errors.Is(err, channels.ErrUnauthorized) || len(r.Calls()) > calls) {
						t.Errorf("Run returned %v after %d calls", err, len(r.Calls())-calls)
					}
					end()
					time.Sleep(5 * time.Millisecond)
				}
				if len(r.Sink.Events()) != 1 || asked < 2 {
					t.Errorf("%d events came in %d attempts", len(r.Sink.Events()), asked)
				}
			})
		}
	}
}
