package telegram

import (
	"errors"
	"net"
	"strings"
	"testing"

	"switchboard/channels"
)

// What keeps the bot from its platform is a sentence for people.
func TestUnreachableIsSaidPlainly(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://" + listener.Addr().String()
	cuts := make(chan struct{})
	cutter, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(cuts)
		for {
			conn, err := cutter.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 1))
			conn.Close()
		}
	}()
	t.Cleanup(func() { cutter.Close(); <-cuts })
	listener.Close()
	for _, c := range []struct {
		api, want string
		surely    bool
	}{
		{gone, "cannot reach " + gone + ": connection refused", true},
		{"http://" + cutter.Addr().String(), "getMe: no complete answer from http://" + cutter.Addr().String() + ": ", false},
	} {
		err := client(c.api, "1:hunter2").Probe(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || errors.Is(err, channels.ErrNotConnected) != c.surely {
			t.Errorf("%s: %v, want %q", c.api, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "error do request") || strings.Contains(err.Error(), "dial tcp") || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("the layers show: %v", err)
		}
	}
}
