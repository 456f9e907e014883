package outbox

import (
	"context"
	"errors"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// showState has the channel show that the turn is at work, if it is still after a while. What
// became of it the presenter finds in the ledger, also after the death of this engine.
func (p *Preview) showState(began time.Time) {
	if _, ok := p.line.channel().(channels.TurnShower); !ok || !retry.Sleep(p.ctx, time.Until(began.Add(draftAfter))) {
		return
	}
	if err := p.line.lines.Ledger.ShowTurn(p.ctx, p.ref); err != nil {
		p.line.lines.Log.DebugContext(p.ctx, "a turn is not shown at work", "channel", p.line.Name, "turn_id", p.ref.TurnID, "error", err)
		return
	}
	p.notify()
	<-p.ctx.Done() // it has ended
	p.notify()
}

// followTurns shows the states of the channel's turns: one call about a turn at a time, so that
// the last state stays.
func (p *presenter) followTurns(ctx context.Context) {
	shower, ok := p.line.channel().(channels.TurnShower)
	if !ok {
		return
	}
	list, err := p.line.lines.Ledger.ShownTurns(ctx, p.line.Name)
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

// A shownTurn is what is shown of a turn by this hold.
type shownTurn struct {
	state channels.TurnState // empty: that is not known
	calls bool               // a call is under way
}

func (p *presenter) showTurn(ctx context.Context, shower channels.TurnShower, s ShownTurn, t *shownTurn) {
	l, hold := p.line, p.line.senderNow().hold
	calling, cancel := context.WithTimeout(ctx, draftTimeout)
	calling, done := l.lines.Engine.Guard(calling)
	err := shower.ShowTurn(calling, s.Conversation, s.Message, s.State)
	done()
	cancel()
	if refused, ok := errors.AsType[*channels.RefusedError](err); ok && !refused.Temporary || errors.Is(err, channels.ErrGone) || errors.Is(err, channels.ErrNoMessage) {
		err = nil // and never will be
	}
	if err == nil && s.State != channels.TurnWorking {
		err = l.lines.Ledger.HideTurn(ctx, hold, s.Turn)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.calls = false; err != nil {
		l.lines.Log.DebugContext(ctx, "what is shown of a turn stays for now", "channel", l.Name, "turn_id", s.Turn, "state", s.State, "error", err)
		return
	}
	if t.state = s.State; s.State == channels.TurnWorking {
		p.look() // it may have ended meanwhile
	}
}
