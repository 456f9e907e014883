package channelstest

import (
	"context"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/internal/testkit"
)

// Patience bounds every wait of a test.
const Patience = testkit.Patience

// Running is a channel that a test runs, with its sink.
type Running struct {
	Sink *Sink
	stop context.CancelFunc
	done chan error
}

// NewRunning makes one that does not run yet, with an empty sink.
func NewRunning() *Running { return &Running{Sink: NewSink()} }

// Start calls f in the background until the test ends, which waits for it.
func (r *Running) Start(t *testing.T, f func(ctx context.Context, sink channels.Sink) error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	r.stop, r.done = stop, done
	go func() { done <- f(ctx, r.Sink) }()
	t.Cleanup(func() {
		stop()
		done <- wait(t, done)
	})
}

// Over says whether it has returned.
func (r *Running) Over() bool { return len(r.done) > 0 }

// Halt ends what runs by its context and returns what it returned.
func (r *Running) Halt(t *testing.T) error {
	t.Helper()
	r.stop()
	return r.Ended(t)
}

// Ended waits until it returned, and returns its error.
func (r *Running) Ended(t *testing.T) error {
	t.Helper()
	err := wait(t, r.done)
	r.done <- err
	return err
}

func wait(t *testing.T, done chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(Patience):
		t.Fatal("Run does not return")
		return nil
	}
}

// Took waits until the sink has n events and returns all it has.
func (r *Running) Took(t *testing.T, n int) []channels.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	if err := r.Sink.Await(ctx, func() bool { return len(r.Sink.Events()) >= n }); err != nil {
		t.Fatalf("%d events of %d came: %+v", len(r.Sink.Events()), n, r.Sink.Events())
	}
	return r.Sink.Events()
}

// Literal is a credential that is always the same.
func Literal(token string) channels.Credential {
	return channels.NewCredential(func() (secrets.Secret, error) { return secrets.Secret(token), nil })
}
