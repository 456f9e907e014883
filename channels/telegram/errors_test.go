package telegram

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
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
	for want, err := range map[string]error{
		"there is no host named b.example":                  &net.OpError{Op: "dial", Err: &net.DNSError{Name: "b.example", IsNotFound: true}},
		"the name b.example cannot be looked up: no answer": &net.DNSError{Name: "b.example", Err: "no answer"},
		"it does not answer in time":                        fmt.Errorf("error do request for method getMe, %w", context.DeadlineExceeded),
		"the proxy cannot be used: connection refused":      &net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED},
		"something else":                                    errors.New("error do request for method getMe, something else"),
	} {
		if got := plainly(err); got != want {
			t.Errorf("%v is said as %q, want %q", err, got, want)
		}
	}
}
