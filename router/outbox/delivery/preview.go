package delivery

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"switchboard/router/core"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/outbox"
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
	// draftRowEvery is the least time between two texts of a draft in the database, for
	// another engine to show.
	draftRowEvery = time.Second
	// typingAfter is how long a turn runs before typing is shown: what is answered at
	// once needs none.
	typingAfter = 300 * time.Millisecond
	// typingEvery is how often typing is shown where the channel does not say how
	// long it lasts.
	typingEvery = 4 * time.Second
)

// A Preview is what one turn shows while it works; the latest content wins. All of it
// is best effort: neither the turn nor a delivery waits for a platform because of it.
//
// It is a message that grows (a draft). It has a row before it is first shown, and the
// next thing the turn says takes its place. The presenter of the engine that holds the
// channel shows it: from memory, or from the row where that is another engine. A
// Reader's clients are shown the text by the channel itself, and from the row where
// they are connected to another engine.
type Preview struct {
	presenter  *presenter
	composer   *outbox.Composer
	wakeOthers func(core.Wake) // notifies the other engines
	shared     bool            // there are others
	ref        core.TurnRef
	ctx        context.Context // ends with the turn
	end        context.CancelFunc
	changed    chan struct{}
	writing    chan struct{} // its one place is taken while the draft's row is written

	mu       sync.Mutex
	content  content
	row      outbox.Draft // of the next message; no Delivery: there is none
	shown    *draft       // by which this engine shows it; nil: it does not
	streamed bool         // the channel's clients are shown a text
}

// NewPreview begins to show that a turn is worked on.
func NewPreview(c *Connection, ref core.TurnRef, data *core.TurnData) *Preview {
	p := &Preview{
		presenter: c.presenter, composer: c.Composer, wakeOthers: c.parent.Wake, shared: c.parent.Wakes != nil, ref: ref, changed: make(chan struct{}, 1), writing: make(chan struct{}, 1),
		row: outbox.Draft{
			Delivery: data.Draft, Turn: ref.TurnID, Conversation: data.Conversation, ReplyTo: outbox.Answers(data),
		},
	}
	p.ctx, p.end = context.WithCancel(c.parent.work)
	if data.Turn.Limits.Quiet { // nothing is shown before it is known that there is something to say
		return p
	}
	if plans := data.State.Plans; len(plans) > 0 {
		p.Note(agent.Step{Plan: &plans[len(plans)-1]})
	}
	c.parent.Background(p.keepTyping)
	c.parent.Background(func() { p.showState(data.Turn.StartedAt) })
	if c.drafts(c.channel().Features(data.Conversation)) || c.streamer() != nil && p.shared {
		c.parent.Background(func() { p.run(data.Turn.StartedAt) })
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
	streamer := p.presenter.streamer()
	if streamer != nil {
		text = p.composer.Grown(text)
	}
	if p.content.text = text; streamer != nil {
		streamer.Stream(p.row.Conversation.ID, p.ref.TurnID, text)
		p.streamed = text != ""
	}
	p.wake()
}

// wake has run go on, if there is news. Called under the lock.
func (p *Preview) wake() {
	if _, news := p.news(); news {
		retry.Signal(p.changed)
	}
}

// news is the text that is to be shown; false when nothing is to be. Called under the
// lock.
func (p *Preview) news() (text string, news bool) {
	if p.presenter.streamer() != nil {
		return p.content.text, p.shared && p.content.text != p.row.Body.Text // others' clients read it in the row
	}
	return p.content.news(p.row.Delivery != 0)
}

// latest is what is to be shown now; false: nothing.
func (p *Preview) latest() (body channels.Body, news bool) {
	p.mu.Lock()
	text, news := p.news()
	grows := p.content.text != ""
	p.mu.Unlock()
	if !news || p.presenter.streamer() != nil { // whose clients are shown Markdown
		return channels.Body{Text: text}, news
	}
	return p.composer.Draft(p.row.Conversation, text, grows), true
}

// first is what is shown first where nobody could look it up.
func (p *Preview) first() channels.Body {
	p.mu.Lock()
	text := p.content.first()
	p.mu.Unlock()
	return p.composer.Draft(p.row.Conversation, text, false)
}

// Take returns the draft for a message that is about to be committed, which is
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
		p.presenter.streamer().Stream(p.row.Conversation.ID, p.ref.TurnID, "")
	}
}

// notify has the presenter of the channel read the row.
func (p *Preview) notify() {
	if p.presenter.holds() {
		p.presenter.poll()
	} else {
		p.wakeOthers(core.WakeAt(core.WakeDraft, p.row.Conversation))
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
			retry.Await(p.ctx, p.changed, pollIdle)
			retry.Sleep(p.ctx, draftSettle)
		case p.presenter.holds():
			p.present()
		case p.shared:
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
		shown = p.presenter.present(p.row, p.latest, p.first, p.changed)
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
	delivery, err := p.presenter.ledger.Draft(p.ctx, p.ref, p.row.ReplyTo, body)
	if errors.Is(err, core.ErrFenced) {
		p.end()
	} else if err != nil && p.ctx.Err() == nil {
		p.presenter.log.DebugContext(p.ctx, "a draft was not written", "turn_id", p.ref.TurnID, "error", err)
	}
	if err != nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.row.Delivery, p.row.Body = delivery, body
	return delivery
}

// showState has the channel show that the turn is at work, if it is still after a while. What
// became of it the presenter finds in the database, also after the death of this engine.
func (p *Preview) showState(began time.Time) {
	if _, ok := p.presenter.channel().(channels.TurnShower); !ok || !retry.Sleep(p.ctx, time.Until(began.Add(draftAfter))) {
		return
	}
	if err := p.presenter.ledger.ShowTurn(p.ctx, p.ref); err != nil {
		p.presenter.log.DebugContext(p.ctx, "a turn is not shown at work", "turn_id", p.ref.TurnID, "error", err)
		return
	}
	p.notify()
	<-p.ctx.Done() // it has ended
	p.notify()
}

// keepTyping shows that an answer is being made, until the turn ends.
func (p *Preview) keepTyping() {
	conv, channel := p.row.Conversation, p.presenter.channel()
	if _, ok := channel.(channels.Typer); !ok {
		return
	}
	every := typingEvery
	if lasts := channel.Features(conv).TypingFor; lasts > 0 {
		every = min(every, lasts*4/5)
	}
	for retry.Sleep(p.ctx, typingAfter); p.ctx.Err() == nil; retry.Sleep(p.ctx, every) {
		if p.presenter.holds() {
			p.presenter.typing(p.ctx, conv)
		} else {
			p.wakeOthers(core.WakeAt(core.WakeTyping, conv))
		}
	}
}

// A content is what there is to show of a turn: the text of its next message, else its
// plan while that does something, else nothing.
type content struct {
	plan *agent.PlanRow // as it is now; nil: none yet
	text string         // of the next message so far
	past string         // what the latest message took the place of
}

// follow notes what was committed of the turn.
func (c *content) follow(step agent.Step) {
	if step.Plan != nil {
		plan := *step.Plan
		plan.Tasks = slices.Clone(plan.Tasks)
		c.plan = &plan
	}
	if c.plan == nil {
		return
	}
	for _, change := range step.Tasks {
		if change.Attempt == c.plan.Attempt && change.Position < len(c.plan.Tasks) {
			c.plan.Tasks[change.Position].State = change.State
		}
	}
}

// said notes that a message takes the place of what is shown; what follows it is news.
func (c *content) said() { c.text, c.past = "", c.planned() }

// planned is the plan; empty: it does nothing that takes time.
func (c *content) planned() string {
	if c.plan == nil {
		return ""
	}
	return outbox.Plan(c.plan)
}

// news is what is to be shown; false: nothing. Drafted says that something is shown,
// which is retracted when there is nothing else to show.
func (c *content) news(drafted bool) (text string, news bool) {
	text = cmp.Or(c.text, c.planned())
	if text == "" && drafted {
		text = nothingYet
	}
	return text, text != "" && text != c.past
}

// nothingYet is what is shown where there is nothing to show.
const nothingYet = "…"

// first is what is shown before anything of the next message is.
func (c *content) first() string {
	if plan := c.planned(); plan != "" && plan != c.past {
		return plan
	}
	return nothingYet
}
