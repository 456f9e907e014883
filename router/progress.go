package router

import (
	"context"
	"errors"
	"sync"
	"time"

	"switchboard/agent"
	"switchboard/channels"
)

const (
	// draftAfter is how long a turn works before it shows its plan: what is answered
	// sooner needs none.
	draftAfter = 1500 * time.Millisecond
	// draftSettle is how long a change waits for the next one, or for the message that
	// would overtake it on the way.
	draftSettle = 250 * time.Millisecond
	// draftTimeout bounds one call that shows something.
	draftTimeout = 10 * time.Second
	// draftRetry is how soon a draft looks for spare budget again.
	draftRetry = 500 * time.Millisecond
)

// A progress shows of a turn that it is worked on, and its plan while it is carried
// out. All of it is best effort, done beside the turn: neither the turn nor a
// delivery ever waits for a platform because of it.
//
// The plan is a message that grows (a draft). It has a row before it is first sent,
// and the next thing the turn says takes its place. Where a call is under way just
// then, or broke off, nobody knows what it will still do to the message shown, so
// that what is said goes out anew and the draft is left behind.
type progress struct {
	line     *line
	ref      TurnRef
	conv     channels.Conversation
	replyTo  channels.MessageID // what the answer will hang on
	began    time.Time
	drafter  channels.Drafter // nil: no drafts here
	every    time.Duration
	ctx      context.Context // ends with the turn
	end      context.CancelFunc
	changed  chan struct{}
	writing  chan struct{} // its one place is taken while the draft's row is written
	hesitate *time.Timer   // until typing is shown

	mu      sync.Mutex
	plan    *agent.PlanRow // as it is now; nil: none yet
	started bool           // run was started
	over    bool           // nothing more is shown
	ended   bool           // and the turn is written down
	shown   string         // the text shown, or taken back by a message
	draft   *Draft         // nil: none is open
	cut     context.CancelFunc
	doubt   bool // a call about the draft broke off: it may still change what is shown
	off     bool // drafts failed, and are not tried again
}

// showProgress begins to show that a turn is worked on.
func showProgress(l *line, ref TurnRef, data *TurnData) *progress {
	features := l.channel.Features(data.Conversation)
	p := &progress{
		line: l, ref: ref, conv: data.Conversation, replyTo: l.replyTo(data.Conversation, data.ReplyTo), began: data.Turn.StartedAt, every: features.DraftEvery,
		changed: make(chan struct{}, 1), writing: make(chan struct{}, 1), draft: data.Draft,
	}
	p.ctx, p.end = context.WithCancel(l.router.work)
	if _, ok := l.channel.(channels.Editor); ok && p.every > 0 {
		p.drafter, _ = l.channel.(channels.Drafter)
	}
	if p.draft != nil {
		p.shown = p.draft.Text
		p.off = p.draft.PlatformID == "" // it may be shown where nobody can find it
	}
	if plans := data.State.Plans; len(plans) > 0 {
		p.note(agent.Step{Plan: &plans[len(plans)-1]})
	}
	p.typing(features.TypingFor)
	return p
}

// note follows what was committed of the turn.
func (p *progress) note(step agent.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if step.Plan != nil {
		plan := *step.Plan
		plan.Tasks = append([]agent.TaskRow(nil), plan.Tasks...)
		p.plan = &plan
	}
	if p.plan == nil || p.over {
		return
	}
	for _, c := range step.Tasks {
		if c.Attempt == p.plan.Attempt && c.Position < len(p.plan.Tasks) {
			p.plan.Tasks[c.Position].State = c.State
		}
	}
	if p.drafter == nil || p.off || !acts(p.plan) {
		return
	}
	if !p.started {
		p.started = true
		p.line.router.asides.Go(p.run)
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// take hands over the draft for a message that is about to be committed, which is
// to edit it; 0: there is none, or it is better left alone.
func (p *progress) take() (delivery int64) {
	p.writing <- struct{}{} // a row that is being written is waited for, a platform is not
	defer func() { <-p.writing }()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut != nil {
		p.cut()
		p.doubt = true
	}
	if p.plan != nil {
		p.shown = planText(p.plan) // what follows the message is news
	}
	if p.draft == nil || p.doubt {
		p.off = p.off || p.doubt
		return 0
	}
	delivery, p.draft = p.draft.Delivery, nil
	return delivery
}

// finish takes back what is shown of a turn that ended without any use for it.
func (p *progress) finish() {
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.draft != nil && p.cut == nil {
		p.remove(p.draft.PlatformID)
	}
}

// remove takes a message of ours back, in the background.
func (p *progress) remove(id channels.MessageID) {
	deleter, ok := p.line.channel.(channels.Deleter)
	if id == "" || !ok {
		return
	}
	p.line.router.asides.Go(func() {
		ctx, cancel := context.WithTimeout(p.line.router.work, draftTimeout)
		defer cancel()
		if err := deleter.Delete(ctx, p.conv, id); err != nil {
			p.line.router.Log.DebugContext(ctx, "a draft stays", "channel", p.line.name, "turn_id", p.ref.TurnID, "error", err)
		}
	})
}

// stop shows nothing more; it does not wait for a platform.
func (p *progress) stop() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	if p.hesitate != nil {
		p.hesitate.Stop()
	}
	p.end()
}

// run shows the plan and every change of it, the latest alone and no faster than
// the channel likes.
func (p *progress) run() {
	sleep(p.ctx, time.Until(p.began.Add(draftAfter)))
	var last time.Time
	for p.ctx.Err() == nil {
		text, news := p.news()
		if !news {
			select {
			case <-p.ctx.Done():
			case <-p.changed:
				sleep(p.ctx, draftSettle)
			}
			continue
		}
		if wait := time.Until(last.Add(p.every)); wait > 0 {
			sleep(p.ctx, wait)
			continue
		}
		if !p.maySpeak() || !p.line.limits.spare(p.conv.ID, p.line.channel.Features(p.conv).Rates, time.Now()) {
			sleep(p.ctx, draftRetry)
			continue
		}
		last = time.Now()
		if err := p.show(text); err != nil && p.ctx.Err() == nil {
			p.line.router.Log.DebugContext(p.ctx, "a draft was not shown", "channel", p.line.name, "turn_id", p.ref.TurnID, "error", err)
		}
	}
}

// maySpeak says whether a draft may be shown just now: this engine sends for the
// channel, and nothing said before is still on its way, for the answer will stand
// where the draft does.
func (p *progress) maySpeak() bool { return p.line.quiet(p.conv.ID) && p.line.router.Engine.Safe() }

// news is the text that is to be shown; false when it is shown already, or nothing
// is to be.
func (p *progress) news() (text string, news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.off || p.plan == nil || !acts(p.plan) {
		return "", false
	}
	text = planText(p.plan)
	return text, text != p.shown
}

// show brings one text to the platform.
func (p *progress) show(text string) error {
	body := p.line.reply(p.conv, text).Parts[0]
	draft, ctx, err := p.open(body)
	if err != nil || draft == nil {
		return err
	}
	id, err := p.drafter.Draft(ctx, p.conv, draft.PlatformID, p.replyTo, body)
	p.writing <- struct{}{}
	defer func() { <-p.writing }()
	ended := p.called(text, id, err)
	if err != nil || ended {
		return err
	}
	recorded := &Draft{Delivery: draft.Delivery, PlatformID: id, Text: text}
	err = p.line.router.Ledger.Drafted(context.WithoutCancel(p.ctx), p.ref, recorded)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draft = recorded
	if err != nil { // what takes its place would not know what to edit
		p.off, p.doubt = true, true
	}
	return err
}

// called notes the end of a call, and takes back what it showed of a turn that ended
// meanwhile.
func (p *progress) called(text string, id channels.MessageID, err error) (ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
	p.cut = nil
	if err != nil {
		p.failed(err)
		id = p.draft.PlatformID
	} else {
		p.shown = text
	}
	if p.ended {
		p.remove(id)
	}
	return p.ended
}

// open makes sure that the draft has a row and notes that a call about it begins;
// nil when there is nothing to show any more.
func (p *progress) open(body channels.Body) (*Draft, context.Context, error) {
	p.writing <- struct{}{}
	defer func() { <-p.writing }()
	p.mu.Lock()
	draft := p.draft
	p.mu.Unlock()
	if draft == nil && p.ctx.Err() == nil {
		var err error
		if draft, err = p.line.router.Ledger.Draft(p.ctx, p.ref, body); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.off = true
			return nil, nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draft = draft
	if p.over || p.off {
		return nil, nil, nil
	}
	ctx, cut := context.WithTimeout(p.ctx, draftTimeout)
	p.cut = cut
	return draft, ctx, nil
}

// failed says what the end of a call means for the draft. Called under the lock.
func (p *progress) failed(err error) {
	now := time.Now()
	limited, isLimited := errors.AsType[*channels.RateLimitError](err)
	_, refused := errors.AsType[*channels.RefusedError](err)
	switch {
	case isLimited && limited.Channel:
		p.line.limits.pauseAll(now.Add(orElse(limited.RetryAfter, retryMin)))
	case isLimited:
		p.line.limits.pause(p.conv.ID, now.Add(orElse(limited.RetryAfter, retryMin)))
	case errors.Is(err, channels.ErrNotConnected):
	case refused, errors.Is(err, channels.ErrNoMessage), errors.Is(err, channels.ErrGone),
		errors.Is(err, channels.ErrMoved), errors.Is(err, channels.ErrUnauthorized):
		p.off = true
	default: // no answer
		p.off, p.doubt = true, true
	}
}
