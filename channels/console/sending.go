package console

import (
	"context"
	"fmt"
	"strings"
	"time"

	"switchboard/internal/api"
)

const (
	// sendMost is how many messages may wait for an engine.
	sendMost = 100
	// leaveWait is how long leaving waits for what was just written to be taken.
	leaveWait = 2 * time.Second
	// takenWait is how long a message may take to be stored before the person is told
	// that it is not.
	takenWait = time.Second
)

// posted is what became of a message.
type posted struct {
	text string
	got  api.Receipt
	err  error
}

// post sends what was written, in order, until ctx ends.
func (t *terminal) post(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case text := <-t.outbox:
			got, err := t.client.post(ctx, text)
			give(ctx, t.sent, posted{text, got, err})
		}
	}
}

func (t *terminal) send(text string) {
	select {
	case t.outbox <- strings.ToValidUTF8(text, "\uFFFD"):
		if t.sending++; t.stuck {
			t.note(notTaken)
		} else if t.sending == 1 {
			t.tardy = time.After(takenWait)
		}
	default:
		t.note("not sent: too much waits to be sent already")
	}
}

// notTaken is said of a message that no engine has stored yet.
const notTaken = "not taken yet: it cannot be stored now; I go on trying"

// delayed says of the message being sent that it is not taken yet: the disk may be full or the
// database away for long.
func (t *terminal) delayed() {
	t.stuck, t.tardy = true, nil
	t.note(notTaken)
}

func (t *terminal) posted(p posted) {
	t.sending--
	if t.stuck && p.err == nil { // what waits behind one that is stuck was told so too
		t.note("taken now: " + oneLine(p.text, detailWidth/2))
	}
	switch t.tardy = nil; {
	case t.sending == 0:
		t.stuck = false
	case !t.stuck:
		t.tardy = time.After(takenWait)
	}
	got := p.got
	switch {
	case p.err != nil:
		t.note("not sent: " + Printable(p.err.Error()))
	case got.Rejected != "":
		t.note("refused: " + Printable(got.Rejected))
	case got.Event == 0 && !got.Duplicate:
		t.note(fmt.Sprintf("nobody will answer: %q is not among the people who may write", t.client.person))
	case got.TurnID != 0 && t.last <= got.Event:
		t.running[got.TurnID] = true // its events are on their way
	}
}

// leave says what leaving leaves behind.
func (t *terminal) leave() {
	giveUp := time.After(leaveWait)
	for t.sending > 0 {
		select {
		case p := <-t.sent:
			t.posted(p)
			continue
		case <-t.tardy:
			t.delayed()
			continue
		case <-giveUp:
			t.note("what you wrote last may not have been taken: no engine has confirmed it")
		}
		break
	}
	switch {
	case len(t.running) == 0:
	case t.stopping && t.sending == 0:
		t.note("it is being cancelled")
	case t.o.SeenFile == "":
		t.note("still working on it")
	default:
		t.note("still working on it; the answer will be here next time")
	}
	t.save()
}
