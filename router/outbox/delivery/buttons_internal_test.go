package delivery

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/internal/testkit"
)

type unlimited struct{ channels.Channel }

func (unlimited) Features(channels.Conversation) channels.Features { return channels.Features{} }

// To take buttons off, a platform may read a message and write it again: what is decided in between is written
// after it. Another message does not wait.
func TestCallsAboutButtonsOfAMessageGoOneByOne(t *testing.T) {
	t.Parallel()
	var calls sync.WaitGroup
	defer calls.Wait()
	b := &buttons{adapter: &adapter{}, limits: newLimits(), background: func(f func()) { calls.Go(f) }, work: t.Context()}
	var ch channels.Channel = unlimited{}
	b.latest.Store(&ch)
	began, end, log := make(chan struct{}), make(chan struct{}), &testkit.Log{}
	release := sync.OnceFunc(func() { close(end) })
	defer release()
	call := func(id channels.MessageID, do func()) {
		b.whenSpare(channels.Conversation{ID: "c"}, id, "", func(context.Context) error { do(); return nil }, func() {})
	}
	call("a", func() {
		close(began)
		<-end
		fmt.Fprintln(log, "off")
	})
	<-began
	call("a", func() { fmt.Fprintln(log, "decided") })
	call("b", func() { fmt.Fprintln(log, "other") })
	testkit.Await(t, "the other message", time.Minute, func() bool { return log.Has("other") })
	time.Sleep(100 * time.Millisecond)
	release()
	calls.Wait()
	if got := log.String(); got != "other\noff\ndecided\n" {
		t.Errorf("%q", got)
	}
	if len(b.alone) != 0 {
		t.Errorf("%d messages are kept", len(b.alone))
	}
}
