package outbox

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/core"
)

const (
	// draftAfter is how long a turn works before it shows its plan or its text: what is
	// answered sooner needs none.
	draftAfter = 1500 * time.Millisecond
	// draftSettle is how long a change waits for the next one, or for the message that
	// would overtake it on the way.
	draftSettle = 250 * time.Millisecond
	// draftRetry is how soon it is tried again to show what cannot be shown now.
	draftRetry = 500 * time.Millisecond
	// draftRowEvery is the least time between two texts of a draft in the ledger, for
	// another engine to show.
	draftRowEvery = time.Second
)

// A preview is what one turn shows while it works; the latest content wins. All of it
// is best effort: neither the turn nor a delivery waits for a platform because of it.
//
// It is a message that grows (a draft). It has a row before it is first shown, and the
// next thing the turn says takes its place. The presenter of the engine that holds the
// channel shows it: from memory, or from the row where that is another engine. A
// Reader's clients are shown the text by the channel itself, and from the row where
// they are connected to another engine.
type Preview struct {
	line    *Connection
	ref     core.TurnRef
	ctx     context.Context // ends with the turn
	end     context.CancelFunc
	changed chan struct{}
	writing chan struct{} // its one place is taken while the draft's row is written

	mu       sync.Mutex
	content  content
	row      Draft  // of the next message; no Delivery: there is none
	shown    *draft // by which this engine shows it; nil: it does not
	streamed bool   // the channel's clients are shown a text
	away     bool   // the channel's clients are not connected here
}

// NewPreview begins to show that a turn is worked on.
func NewPreview(l *Connection, ref core.TurnRef, data *core.TurnData) *Preview {
	p := &Preview{
		line: l, ref: ref, changed: make(chan struct{}, 1), writing: make(chan struct{}, 1),
		row: Draft{
			Delivery: data.Draft, Turn: ref.TurnID, Conversation: data.Conversation, ReplyTo: l.Answers(data),
		},
	}
	p.ctx, p.end = context.WithCancel(l.lines.work)
	if data.Turn.Terms.Quiet { // nothing is shown before it is known that there is something to say
		return p
	}
	if plans := data.State.Plans; len(plans) > 0 {
		p.Note(agent.Step{Plan: &plans[len(plans)-1]})
	}
	l.lines.asides.Go(p.keepTyping)
	l.lines.asides.Go(func() { p.showState(data.Turn.StartedAt) })
	if l.drafts(l.channel().Features(data.Conversation)) || l.streamer() != nil && l.lines.Wakes != nil {
		l.lines.asides.Go(func() { p.run(data.Turn.StartedAt) })
	}
	return p
}

// Note follows what was committed of the turn.
func (p *Preview) Note(step agent.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.content.follow(step)
	p.wake()
}

// Stream shows text, the whole of what the turn's next message says so far.
func (p *Preview) Stream(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	streamer := p.line.streamer()
	if streamer != nil {
		text = p.line.grown(text)
	}
	if p.content.text = text; streamer != nil {
		p.away = !streamer.Stream(p.row.Conversation.ID, p.ref.TurnID, text)
		p.streamed = text != ""
	}
	p.wake()
}

// wake has the preview looked at, if there is news. Called under the lock.
func (p *Preview) wake() {
	if _, news := p.news(); news {
		retry.Signal(p.changed)
	}
}

// news is the text that is to be shown; false when nothing is to be. Called under the
// lock.
func (p *Preview) news() (text string, news bool) {
	if p.line.streamer() != nil {
		return p.content.text, p.away && p.content.text != p.row.Body.Text
	}
	return p.content.news(p.row.Delivery != 0)
}

// latest is what is to be shown now; false: nothing.
func (p *Preview) latest() (body channels.Body, news bool) {
	p.mu.Lock()
	text, news := p.news()
	grows := p.content.text != ""
	p.mu.Unlock()
	if !news || p.line.streamer() != nil { // whose clients are shown Markdown
		return channels.Body{Text: text}, news
	}
	return p.line.draftBody(p.row.Conversation, text, grows), true
}

// first is what is shown first where nobody could look it up.
func (p *Preview) first() channels.Body {
	p.mu.Lock()
	text := p.content.first()
	p.mu.Unlock()
	return p.line.draftBody(p.row.Conversation, text, false)
}

// Take hands over the draft for a message that is about to be committed, which is
// to edit what is shown; 0: there is none.
func (p *Preview) Take() (delivery int64) {
	p.writing <- struct{}{} // a row that is being written is waited for, a platform is not
	defer func() { <-p.writing }()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.content.said()
	p.unshow()
	delivery, p.row.Delivery, p.row.Body = p.row.Delivery, 0, channels.Body{}
	return delivery
}

// Committed follows a commit that said something, or ended the turn, once clients were
// notified; taken says that it took a draft.
func (p *Preview) Committed(taken bool) {
	p.mu.Lock()
	p.unstream()
	p.mu.Unlock()
	if taken {
		p.notify()
	}
}

// Stop shows nothing more; it does not wait for a platform.
func (p *Preview) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	p.unshow()
	p.unstream()
}

// unshow has this engine show nothing more in the draft. Called under the lock.
func (p *Preview) unshow() {
	if p.shown != nil {
		p.shown.stop()
		p.shown = nil
	}
}

// unstream ends what the channel's clients are shown. Called under the lock.
func (p *Preview) unstream() {
	if p.streamed {
		p.streamed = false
		p.line.streamer().Stream(p.row.Conversation.ID, p.ref.TurnID, "")
	}
}

// notify has the presenter of the channel look at the row.
func (p *Preview) notify() {
	if p.line.presenter.holds() {
		p.line.presenter.look()
	} else {
		p.line.lines.Wake(core.WakeAt(core.WakeDraft, p.row.Conversation))
	}
}

// run has what is new shown by this engine or by another, until the turn ends.
func (p *Preview) run(began time.Time) {
	retry.Await(p.ctx, p.changed, math.MaxInt64)
	retry.Sleep(p.ctx, max(time.Until(began.Add(draftAfter)), draftSettle))
	for p.ctx.Err() == nil {
		body, news := p.latest()
		switch {
		case !news:
			retry.Await(p.ctx, p.changed, lookIdle)
			retry.Sleep(p.ctx, draftSettle)
		case p.line.presenter.holds():
			p.present()
		case p.line.lines.Wakes != nil:
			p.publish(body)
		default: // nobody shows anything now
			retry.Sleep(p.ctx, draftRetry)
		}
	}
}

// present has this engine show the draft until a message takes its place, or another
// engine holds the channel. The row holds no text.
func (p *Preview) present() {
	delivery := p.write(channels.Body{})
	var shown *draft
	p.mu.Lock()
	if delivery != 0 && p.ctx.Err() == nil && p.row.Delivery == delivery {
		shown = p.line.presenter.present(p.row, p.latest, p.first, p.changed)
	}
	p.shown = shown
	p.mu.Unlock()
	if shown == nil {
		retry.Sleep(p.ctx, draftRetry)
		return
	}
	<-shown.ctx.Done()
}

// publish writes the text for another engine to show.
func (p *Preview) publish(body channels.Body) {
	p.mu.Lock()
	same := sameBody(body, p.row.Body)
	p.mu.Unlock()
	if same {
		retry.Await(p.ctx, p.changed, draftRowEvery)
		return
	}
	if p.write(body) != 0 {
		p.notify()
	}
	retry.Sleep(p.ctx, draftRowEvery)
}

// write makes sure that the draft has a row with this body; 0 when it has none, or
// nothing is to be shown any more.
func (p *Preview) write(body channels.Body) (delivery int64) {
	p.writing <- struct{}{}
	defer func() { <-p.writing }()
	if _, news := p.latest(); !news || p.ctx.Err() != nil {
		return 0
	}
	delivery, err := p.line.lines.Ledger.Draft(p.ctx, p.ref, p.row.ReplyTo, body)
	if errors.Is(err, core.ErrFenced) {
		p.end()
	} else if err != nil && p.ctx.Err() == nil {
		p.line.lines.Log.DebugContext(p.ctx, "a draft was not written", "channel", p.line.Name, "turn_id", p.ref.TurnID, "error", err)
	}
	if err != nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.row.Delivery, p.row.Body = delivery, body
	return delivery
}
