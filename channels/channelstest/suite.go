package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// Harness is one channel under test with its platform. A nil func is something the
// platform cannot do; the cases that need it are left out, and Run logs their names.
type Harness struct {
	Channel channels.Channel
	// Conversation is where the person writes and the channel may send.
	Conversation channels.Conversation
	// Say makes the person write; it does not wait until the channel has it.
	Say func(text string)
	// Garble makes the platform tell something unreadable.
	Garble func()
	// Repeat makes the platform tell every later event n times.
	Repeat func(n int)
	// Disorder makes the platform tell the newest event first.
	Disorder func(on bool)
	// Pending counts the events that the channel has not acknowledged.
	Pending func() int
	// Drop cuts the connection; the channel can connect again at once.
	Drop func()
	// Down makes the platform unreachable until it is called with false.
	Down func(on bool)
	// Revoke makes the platform reject the credentials.
	Revoke func()
	// Calls counts what the channel asked of the platform.
	Calls func() int
	// Restart makes another channel of the same account, as after a restart of the
	// program; the former one runs no more. nil: the channel itself is run again.
	Restart func() channels.Channel
	// People is what the person can do besides Say.
	People

	// Shown lists the texts the platform shows in Conversation, in order; nil: the
	// channel's clients read for themselves, and Send is not tested.
	Shown func() []string
	// LimitNext, RefuseNext, GoneNext and LoseNext set the fate of the next send:
	// rate limited, refused, conversation closed, done with its answer lost.
	LimitNext  func(after time.Duration, channel bool)
	RefuseNext func(temporary bool)
	GoneNext   func()
	LoseNext   func()
	// LoseNextFiles is LoseNext for a part with files; nil: that is the same.
	LoseNextFiles func()
	// LoseNextDraft is LoseNext for a draft that is shown first; nil: that is the same.
	LoseNextDraft func()
	// Looks is what is shown besides, Health what becomes of the connection.
	Looks
	Health
}

// Run holds a channel to the contract of package channels. Every case makes its
// own harness; the cases run one after the other, because they count goroutines.
func Run(t *testing.T, make func(t *testing.T) Harness) {
	t.Helper()
	able := make(t)
	for _, c := range cases {
		if !c.needs(able) {
			t.Logf("left out, the platform or the channel cannot do it: %s", c.name)
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.run(t, &rig{make(t), NewRunning()}) })
	}
}

type conformanceCase struct {
	name  string
	needs func(Harness) bool
	run   func(*testing.T, *rig)
}

func always(Harness) bool { return true }

var cases = slices.Concat(inboundCases, editCases, peopleCases, outboundCases)

// rig is a harness whose channel can be run and stopped.
type rig struct {
	Harness
	*Running
}

// run starts the channel's Run.
func (r *rig) run(t *testing.T) {
	t.Helper()
	r.Start(t, r.Channel.Run)
}

// begin runs the channel, which receives the person's first message.
func (r *rig) begin(t *testing.T, text string) {
	t.Helper()
	r.run(t)
	r.Say(text)
	r.Took(t, 1)
}

// supervise runs the channel again whenever it loses its connection, as the
// router does, until the test ends.
func (r *rig) supervise(t *testing.T) {
	t.Helper()
	r.Start(t, func(ctx context.Context, sink channels.Sink) error {
		for {
			err := r.Channel.Run(ctx, sink)
			if ctx.Err() != nil || errors.Is(err, channels.ErrUnauthorized) {
				return err
			}
			retry.Sleep(ctx, 5*time.Millisecond)
		}
	})
}

func (r *rig) outbound(text, nonce string) channels.Outbound {
	return channels.Outbound{
		Conversation: r.Conversation, Body: channels.Body{Text: text}, Nonce: nonce, Last: true,
	}
}

// tried is a part that was tried before; the platform's messages in taken are those of others.
func (r *rig) tried(text, nonce string, taken ...channels.MessageID) channels.Outbound {
	out := r.outbound(text, nonce)
	out.FirstTry = time.Now().Add(-time.Second)
	out.Taken = func(_ context.Context, id channels.MessageID) (bool, error) { return slices.Contains(taken, id), nil }
	return out
}

// send sends and expects success.
func (r *rig) send(t *testing.T, text, nonce string) channels.MessageID {
	t.Helper()
	id, err := r.Channel.Send(t.Context(), r.outbound(text, nonce))
	if err != nil {
		t.Fatalf("send %q: %v", nonce, err)
	}
	if id == "" {
		t.Fatalf("send %q returned no ID", nonce)
	}
	return id
}

// noLeak fails when goroutines stay that were not there before it was called.
func noLeak(t *testing.T) (check func()) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	return func() {
		t.Helper()
		if err := goleak.Find(before); err != nil {
			t.Error(fmt.Errorf("after Run returned: %w", err))
		}
	}
}
