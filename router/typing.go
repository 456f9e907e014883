package router

import (
	"context"
	"time"

	"switchboard/channels"
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
	for p.ctx.Err() == nil {
		if p.maySpeak() && p.line.limits.spareOf(p.line.channel.Features(p.conv).Rates, time.Now()) {
			ctx, cancel := context.WithTimeout(p.ctx, every)
			_ = typer.Typing(ctx, p.conv) // the next one may succeed
			cancel()
		}
		sleep(p.ctx, every)
	}
}
