package router

import (
	"context"
	"time"

	"switchboard/channels"
	"switchboard/retry"
)

const (
	// typingAfter is how long a turn runs before typing is shown: what is answered at
	// once needs none.
	typingAfter = 300 * time.Millisecond
	// typingEvery is how often typing is shown where the channel does not say how
	// long it lasts.
	typingEvery = 4 * time.Second
)

// typing shows from now on that an answer is being made, until the turn ends.
// Lasts is how long the platform shows it.
func (p *progress) typing(lasts time.Duration) {
	typer, ok := p.line.channel.(channels.Typer)
	if !ok {
		return
	}
	every := typingEvery
	if lasts > 0 {
		every = min(every, lasts*4/5)
	}
	p.hesitate = time.AfterFunc(typingAfter, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.over { // so that whoever waits for asides has not begun to
			p.line.router.asides.Go(func() { p.keepTyping(typer, every) })
		}
	})
}

func (p *progress) keepTyping(typer channels.Typer, every time.Duration) {
	l := p.line
	for p.ctx.Err() == nil {
		if l.holding() != nil {
			l.typeOnce(p.ctx, typer, p.conv)
		} else {
			l.router.tell(wakeAt(WakeTyping, p.conv))
		}
		retry.Sleep(p.ctx, every)
	}
}

// typeOnce shows typing, if there is budget to spare and nothing said before is still
// on its way.
func (l *line) typeOnce(ctx context.Context, typer channels.Typer, conv channels.Conversation) {
	if !l.quiet(conv.ID) || !l.router.Engine.Safe() || !l.limits.spareOf(l.channel.Features(conv).Rates, time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, typingEvery)
	defer cancel()
	_ = typer.Typing(ctx, conv) // the next one may succeed
}

// typing shows typing for a turn of another engine.
func (s *shows) typing(conv channels.Conversation) {
	l := s.sender.line
	typer, ok := l.channel.(channels.Typer)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok && s.runs() {
		ctx := s.ctx
		s.work.Go(func() { l.typeOnce(ctx, typer, conv) })
	}
}
