package delivery

import (
	"context"
	"errors"

	"switchboard/router/outbox"

	"switchboard/channels"
)

// followTurns shows the states of the channel's turns: one call about a turn at a time, so that
// the last state stays.
func (p *presenter) followTurns(ctx context.Context) {
	shower, ok := p.channel().(channels.TurnShower)
	if !ok {
		return
	}
	list, err := p.ledger.ShownTurns(ctx, p.name)
	if err != nil {
		return // it is asked again
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	former := p.turns
	p.turns = map[int64]*shownTurn{}
	for _, s := range list {
		t := former[s.Turn]
		if t == nil {
			t = &shownTurn{}
		}
		p.turns[s.Turn] = t
		if !t.calls && t.state != s.State {
			t.calls = true
			p.work.Go(func() { p.showTurn(ctx, shower, s, t) })
		}
	}
}

// A shownTurn is what is shown of a turn under this lease.
type shownTurn struct {
	state channels.TurnState // empty: that is not known
	calls bool               // a call is under way
}

func (p *presenter) showTurn(ctx context.Context, shower channels.TurnShower, s outbox.ShownTurn, t *shownTurn) {
	calling, cancel := context.WithTimeout(ctx, draftTimeout)
	calling, done := p.engine.Guard(calling)
	err := shower.ShowTurn(calling, s.Conversation, s.Message, s.State)
	done()
	cancel()
	if isRefused(err) || errors.Is(err, channels.ErrGone) || errors.Is(err, channels.ErrNoMessage) {
		err = nil // and never will be
	}
	if err == nil && s.State != channels.TurnWorking {
		err = p.ledger.HideTurn(ctx, p.lease.Lease, s.Turn)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.calls = false; err != nil {
		p.log.DebugContext(ctx, "what is shown of a turn stays for now", "turn_id", s.Turn, "state", s.State, "error", err)
		return
	}
	if t.state = s.State; s.State == channels.TurnWorking {
		p.poll() // it may have ended meanwhile
	}
}
