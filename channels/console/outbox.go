package console

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	// sendMost is how many messages may wait for an engine.
	sendMost = 100
	// leaveWait is how long leaving waits for what was just written to be taken.
	leaveWait = 2 * time.Second
)

// posted is what became of a message.
type posted struct {
	got receipt
	err error
}

// post sends what was written, in order, until ctx ends.
func (t *terminal) post(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case text := <-t.outbox:
			got, err := t.client.post(ctx, text)
			select {
			case <-ctx.Done():
				return
			case t.sent <- posted{got, err}:
			}
		}
	}
}

func (t *terminal) send(text string) {
	select {
	case t.outbox <- strings.ToValidUTF8(text, "\uFFFD"):
		t.sending++
	default:
		t.note("not sent: too much waits to be sent already")
	}
}

func (t *terminal) posted(p posted) {
	t.sending--
	got := p.got
	switch {
	case p.err != nil:
		t.note("not sent: " + Printable(p.err.Error()))
	case got.Rejected != "":
		t.note("refused: " + Printable(got.Rejected))
	case got.Event == 0 && !got.Duplicate:
		t.note(fmt.Sprintf("nobody will answer: %q is not among the people who are let in", t.client.person))
	case got.TurnID != 0 && t.last <= got.Event:
		t.running[got.TurnID] = true // its events are on their way
	}
}

// farewell says what leaving leaves behind.
func (t *terminal) farewell() {
	giveUp := time.After(leaveWait)
	for t.sending > 0 {
		select {
		case p := <-t.sent:
			t.posted(p)
			continue
		case <-giveUp:
			t.note("what you wrote last may not have been taken: no engine has confirmed it")
		}
		break
	}
	switch {
	case len(t.running) == 0:
	case t.o.SeenFile == "":
		t.note("still working on it")
	default:
		t.note("still working on it; the answer will be here next time")
	}
	t.save()
}
