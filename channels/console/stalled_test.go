package console

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	web "switchboard/channels/api"
	"switchboard/internal/api"
)

// endless is a session with more events than any buffer holds.
type endless struct{ *engine }

func (endless) Events(_ context.Context, _ string, n int64, limit int) ([]channels.SessionEvent, error) {
	list := make([]channels.SessionEvent, limit)
	for i := range list {
		list[i] = channels.SessionEvent{
			N: n + int64(i) + 1, Kind: "message", Message: &channels.SessionMessage{Direction: "out", Text: strings.Repeat("x", 10_000)},
		}
	}
	return list, nil
}

// A client that is connected and reads nothing does not hold the end up.
func TestStalledClientDoesNotHoldTheEndUp(t *testing.T) {
	t.Parallel()
	c := web.NewChannel("console", "console", channels.Features{Markdown: true}, slog.New(slog.DiscardHandler))
	server := httptest.NewServer(handler(c, endless{nothing()}))
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, nil) }()

	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "GET /v1/sessions/default/events?user=owner&after=0 HTTP/1.1\r\nHost: engine\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 300)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // until the buffers between are full
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * api.WriteWait):
		t.Fatal("the channel still waits for a client that reads nothing")
	}
}
