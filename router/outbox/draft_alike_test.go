package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router"
	"switchboard/router/routertest"
	"switchboard/store/storetest"
)

// An alike channel is that of a platform whose history tells no nonces: a message is found again
// by what it says.
type alike struct {
	channels.Channel
	channels.Drafter
	channels.Editor
	channels.Deleter
	channels.Deduper
	platform *channelstest.Platform
	late     time.Duration // how long the answer to a send takes
}

// alikes gives the rig such a channel, with a platform that enforces nonces.
func alikes(r *rig) *alike {
	r.Script.Finder, r.Script.Deduper, r.Script.Window = true, true, 2*time.Minute
	r.Platform.Dedupe(3 * time.Minute)
	a := &alike{platform: r.Platform}
	r.Wrap = func(c channels.Channel) channels.Channel {
		a.Channel = c
		a.Drafter, a.Editor = c.(channels.Drafter), c.(channels.Editor)   //nolint:errcheck // it is rich
		a.Deleter, a.Deduper = c.(channels.Deleter), c.(channels.Deduper) //nolint:errcheck // it is rich
		return a
	}
	return a
}

func (a *alike) Send(ctx context.Context, out channels.Outbound) (channels.MessageID, error) {
	id, err := a.Channel.Send(ctx, out)
	time.Sleep(a.late)
	return id, err
}

func (a *alike) Find(ctx context.Context, out channels.Outbound) (channels.MessageID, bool, error) {
	for _, m := range a.platform.SentIn(string(out.Conversation.ID)) {
		if m.Text != out.Body.Text || m.At.Before(out.FirstTry) {
			continue
		}
		if taken, err := out.Taken(ctx, m.ID); err != nil || !taken {
			return m.ID, err == nil, err
		}
	}
	return "", false, nil
}

// A program that dies while an answer grows shows it once after its restart, where a message can
// be looked up by what it says alone, and the draft may say what the answer does.
func TestKilledWhileAnAnswerGrowsShowsItOnceWhereTextsAreAlike(t *testing.T) {
	t.Parallel()
	for _, at := range []string{
		"mark",   // the database says that the draft is shown first
		"call",   // the platform shows it
		"id",     // the database has its ID
		"edit",   // the platform shows it grown
		"end",    // the database has the answer
		"last",   // the platform shows the answer
		"settle", // the database knows that
	} {
		for _, first := range []string{"whole", "half"} {
			for _, lost := range []bool{false, true} {
				if at == "edit" && first == "whole" {
					continue // nothing grows
				}
				t.Run(fmt.Sprintf("%s, first %s, answers lost %t", at, first, lost), func(t *testing.T) {
					inTime(t, func(t *testing.T, r *rig) { growAndDie(t, r, at, first, lost) })
				})
			}
		}
	}
}

func growAndDie(t *testing.T, r *rig, at, first string, lost bool) {
	t.Helper()
	alikes(r)
	var dead atomic.Bool
	dying := drafting{at: at, dead: &dead, mu: &sync.Mutex{}}
	r.Store = func(l router.Store) router.Store { dying.Store = l; return dying }
	calls := map[string]int{}
	// call is what becomes of a call; the first answer to each kind may be lost.
	call := func(kind string, dies bool) channelstest.Fault {
		if dead.Load() {
			return channelstest.Fault{LoseRequest: true}
		}
		calls[kind]++
		if dies {
			dead.Store(true)
		}
		return channelstest.Fault{LoseAnswer: dies || lost && calls[kind] == 1}
	}
	r.Platform.OnSend(func(scripted.Post) channelstest.Fault { return call("send", dying.at == "last") })
	r.Platform.OnChange(func(c scripted.Change) channelstest.Fault {
		switch {
		case c.Op == scripted.OpDraft && c.ID == "":
			return call("draft", dying.at == "call")
		case c.Op == scripted.OpDraft:
			return call("grown", dying.at == "edit")
		case c.Op == scripted.OpEdit:
			return call("edit", dying.at == "last")
		}
		return channelstest.Fault{LoseRequest: dead.Load()}
	})
	lives := 0
	r.Agent = routertest.Acting(func(p routertest.Play) error {
		if lives++; lives == 1 {
			p.Stream(first)
			p.Pause(8 * time.Second)
			if first == "half" {
				p.Stream("half of it")
				p.Pause(4 * time.Second)
			}
		}
		if p.Answer("whole") != nil {
			return agent.ErrReleased
		}
		return nil
	})
	r.Start()
	r.Platform.Say("c1", "ada", "ask")
	r.Until("it died", dead.Load)
	r.End()
	dying.at = ""
	dead.Store(false)
	r.answersOnce()
}

// answersOnce starts the router again, which is to show the answer and nothing else in the end.
func (r *rig) answersOnce() {
	r.T.Helper()
	r.Start()
	began := time.Now()
	for len(r.Deliveries("sent")) == 0 || len(r.drafts()) > 0 {
		if time.Sleep(250 * time.Millisecond); time.Since(began) > time.Minute {
			r.T.Fatalf("drafts are left: %+v", r.drafts())
		}
	}
	if shown := routertest.Texts(r.Platform.Sent()); !slices.Equal(shown, []string{"whole"}) {
		r.T.Errorf("shown %q", shown)
	}
}

// A draft that may be shown is looked up when nothing said is on its way in its conversation:
// until then an answer that says the same may be taken for it.
func TestDoubtfulDraftIsNotTakenForTheAnswerOnItsWay(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		platform := alikes(r)
		var dead atomic.Bool
		dying := drafting{at: "mark", dead: &dead, mu: &sync.Mutex{}}
		r.Store = func(l router.Store) router.Store { dying.Store = l; return dying }
		lives := 0
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			if lives++; lives == 1 {
				p.Stream("whole")
				p.Pause(3 * time.Second)
				return agent.ErrReleased
			}
			return p.Answer("whole")
		})
		r.Start()
		r.Platform.Say("c1", "ada", "ask")
		r.Until("it died before the draft was shown", dead.Load)
		r.End()
		dying.at, platform.late = "", 20*time.Second
		dead.Store(false)
		r.answersOnce()
	})
}

// A stuck channel looks messages up for as long as it may.
type stuck struct {
	*alike
	looks chan struct{}
	ended chan error
}

func (s stuck) Find(ctx context.Context, _ channels.Outbound) (channels.MessageID, bool, error) {
	select {
	case s.looks <- struct{}{}:
		<-ctx.Done()
		s.ended <- ctx.Err()
	default:
	}
	return "", false, channels.ErrNotConnected
}

// The answer ends the look for a draft of which nobody knows whether it is shown.
func TestAnswerDoesNotWaitForALookAtADraft(t *testing.T) {
	t.Parallel()
	r := newRig(t, storetest.SQLite(t)) // a lock that is waited for would stop a fake clock
	r.Script.Rich, r.Script.DraftEvery = true, time.Second
	alikes(r)
	inner, looks, ended := r.Wrap, make(chan struct{}, 1), make(chan error, 1)
	r.Wrap = func(c channels.Channel) channels.Channel { return stuck{inner(c).(*alike), looks, ended} } //nolint:errcheck // it is one
	r.OnChange(scripted.OpDraft, func(scripted.Change) channelstest.Fault { return channelstest.Fault{LoseAnswer: true} })
	r.Agent = routertest.Acting(func(p routertest.Play) error {
		p.Stream("half")
		for len(looks) == 0 && p.Ctx.Err() == nil {
			p.Pause(10 * time.Millisecond)
		}
		return p.Answer("whole")
	})
	r.Start()
	r.Platform.Say("c1", "ada", "ask")
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the look ended by %v", err)
	}
	r.Until("it is answered", func() bool { return slices.Contains(routertest.Texts(r.Platform.Sent()), "whole") })
}
