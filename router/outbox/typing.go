package outbox

import (
	"context"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/core"
)

const (
	// typingAfter is how long a turn runs before typing is shown: what is answered at
	// once needs none.
	typingAfter = 300 * time.Millisecond
	// typingEvery is how often typing is shown where the channel does not say how
	// long it lasts.
	typingEvery = 4 * time.Second
)

// keepTyping shows that an answer is being made, until the turn ends.
func (p *Preview) keepTyping() {
	l, conv := p.line, p.row.Conversation
	if _, ok := l.channel().(channels.Typer); !ok {
		return
	}
	every := typingEvery
	if lasts := l.channel().Features(conv).TypingFor; lasts > 0 {
		every = min(every, lasts*4/5)
	}
	for retry.Sleep(p.ctx, typingAfter); p.ctx.Err() == nil; retry.Sleep(p.ctx, every) {
		if l.presenter.holds() {
			l.presenter.typing(p.ctx, conv)
		} else {
			l.lines.Wake(core.WakeAt(core.WakeTyping, conv))
		}
	}
}

// typing shows typing once, if there is budget to spare and nothing said before is
// still on its way.
func (p *presenter) typing(ctx context.Context, conv channels.Conversation) {
	l := p.line
	typer, ok := l.channel().(channels.Typer)
	if !ok || !l.quiet(conv.ID) || !l.lines.Engine.Safe() || !l.limits.spareOf(l.channel().Features(conv).Rates, time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, typingEvery)
	defer cancel()
	_ = typer.Typing(ctx, conv) // the next one may succeed
}
