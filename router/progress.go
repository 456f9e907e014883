package router

import (
	"context"
	"errors"
	"sync"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/retry"
)

const (
	// draftAfter is how long a turn works before it shows its plan or its text: what is
	// answered sooner needs none.
	draftAfter = 1500 * time.Millisecond
	// draftSettle is how long a change waits for the next one, or for the message that
	// would overtake it on the way.
	draftSettle = 250 * time.Millisecond
	// draftTimeout bounds one call that shows something.
	draftTimeout = 10 * time.Second
	// draftRetry is how soon a draft looks for spare budget again.
	draftRetry = 500 * time.Millisecond
	// draftRowEvery is the least time between two texts of a draft in the ledger, for
	// another engine to show.
	draftRowEvery = time.Second
	// draftHereEvery is how often it is looked whether this engine is still who shows.
	draftHereEvery = 5 * time.Second
)

// A progress is what a turn shows while it is worked on: its plan while that is
// carried out, its text while it is written. All of it is best effort, done beside the
// turn: neither the turn nor a delivery waits for a platform because of it.
//
// It is a message that grows (a draft). It has a row before it is first shown, and the
// next thing the turn says takes its place. The channel's holder shows it (shows):
// told in memory, or by the row where that is another engine. A Reader's clients are
// shown the text by the channel itself, and by the row where they are connected to
// another engine.
type progress struct {
	line     *line
	ref      TurnRef
	conv     channels.Conversation
	replyTo  channels.MessageID // what the answer will hang on
	began    time.Time
	drafts   bool              // there can be drafts here
	streamer channels.Streamer // nil: the channel is none
	ctx      context.Context   // ends with the turn
	end      context.CancelFunc
	changed  chan struct{}
	writing  chan struct{} // its one place is taken while the draft's row is written
	hesitate *time.Timer   // until typing is shown

	mu       sync.Mutex
	plan     *agent.PlanRow // as it is now; nil: none yet
	text     string         // of the next message so far
	started  bool           // run was started
	over     bool           // nothing more is shown
	seen     string         // what was there when a message took the place of it
	draft    int64          // the open draft's delivery; 0: none
	streamed bool           // the channel's clients are shown a text
	away     bool           // the channel's clients are not connected here
	written  string         // the text in the row, for another engine
	show     *show          // by which this engine shows it; nil: it does not
	stale    bool           // who shows drafts has to look at the row
}

// showProgress begins to show that a turn is worked on.
func showProgress(l *line, ref TurnRef, data *TurnData) *progress {
	features := l.channel.Features(data.Conversation)
	p := &progress{
		line: l, ref: ref, conv: data.Conversation, replyTo: l.replyTo(data.Conversation, data.ReplyTo), began: data.Turn.StartedAt,
		drafts: l.drafts(features), changed: make(chan struct{}, 1), writing: make(chan struct{}, 1), draft: data.Draft,
	}
	p.ctx, p.end = context.WithCancel(l.router.work)
	p.streamer, _ = l.channel.(channels.Streamer)
	if plans := data.State.Plans; len(plans) > 0 {
		p.note(agent.Step{Plan: &plans[len(plans)-1]})
	}
	p.typing(features.TypingFor)
	return p
}

// drafts says whether a conversation with these features is shown what grows.
func (l *line) drafts(features channels.Features) bool {
	_, drafts := l.channel.(channels.Drafter)
	_, edits := l.channel.(channels.Editor)
	return drafts && edits && features.DraftEvery > 0
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
	if p.plan == nil {
		return
	}
	for _, c := range step.Tasks {
		if c.Attempt == p.plan.Attempt && c.Position < len(p.plan.Tasks) {
			p.plan.Tasks[c.Position].State = c.State
		}
	}
	if p.drafts && acts(p.plan) {
		p.start()
	}
}

// stream shows text, the whole of what the turn's next message says so far.
func (p *progress) stream(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.text = text
	switch {
	case p.streamer != nil:
		p.away = !p.streamer.Stream(p.conv.ID, p.ref.TurnID, text)
		p.streamed = text != ""
		if p.away && p.line.router.Wakes != nil {
			p.start()
		}
	case p.drafts:
		p.start()
	}
}

// start has run look at what is to be shown. Called under the lock.
func (p *progress) start() {
	if p.over {
		return
	}
	if !p.started {
		p.started = true
		p.line.router.asides.Go(p.run)
	}
	poke(p.changed)
}

// take hands over the draft for a message that is about to be committed, which is
// to edit what is shown; 0: there is none.
func (p *progress) take() (delivery int64) {
	p.writing <- struct{}{} // a row that is being written is waited for, a platform is not
	defer func() { <-p.writing }()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = ""
	if p.seen = ""; p.plan != nil && acts(p.plan) {
		p.seen = planText(p.plan) // what follows the message is news
	}
	delivery = p.draft
	p.leave()
	return delivery
}

// leave has nothing more shown in the draft. Called under the lock.
func (p *progress) leave() {
	if p.show != nil {
		p.show.shows.close(p.show)
	}
	p.stale = p.stale || p.draft != 0
	p.draft, p.show, p.written = 0, nil, ""
}

// committed follows a commit that said something, or ended the turn; clients were
// told of it.
func (p *progress) committed(ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ended {
		p.leave()
	}
	p.unstream()
	if p.stale {
		p.stale = false
		p.tell()
	}
}

// unstream ends what the channel's clients are shown. Called under the lock.
func (p *progress) unstream() {
	if p.streamed {
		p.streamed = false
		p.streamer.Stream(p.conv.ID, p.ref.TurnID, "")
	}
}

// tell has whoever shows the draft look at its row.
func (p *progress) tell() {
	if s := p.line.holding(); s != nil {
		s.shows.lookAgain()
	} else {
		p.line.router.tell(wakeAt(WakeDraft, p.conv))
	}
}

// stop shows nothing more; it does not wait for a platform.
func (p *progress) stop() {
	p.mu.Lock()
	p.over = true
	if p.show != nil {
		p.show.shows.close(p.show)
	}
	p.unstream()
	p.mu.Unlock()
	if p.hesitate != nil {
		p.hesitate.Stop()
	}
	p.end()
}

// run brings the latest of what is to be shown to whoever shows it.
func (p *progress) run() {
	retry.Sleep(p.ctx, time.Until(p.began.Add(draftAfter)))
	for p.ctx.Err() == nil {
		again, err := p.bring()
		if err != nil && p.ctx.Err() == nil {
			p.line.router.Log.DebugContext(p.ctx, "a draft was not written", "channel", p.line.name, "turn_id", p.ref.TurnID, "error", err)
		}
		timer := time.NewTimer(again)
		select {
		case <-p.ctx.Done():
		case <-timer.C:
		case <-p.changed:
			retry.Sleep(p.ctx, draftSettle)
		}
		timer.Stop()
	}
}

// bring has what is new shown by this engine, or by another; again says when to see
// whether that is done still.
func (p *progress) bring() (again time.Duration, err error) {
	text, news := p.news()
	s := p.line.holding()
	switch {
	case !news:
		return pollIdle, nil
	case s != nil && p.streamer == nil:
		return p.bringHere(s)
	case p.line.router.Wakes != nil:
		return draftRowEvery, p.bringAway(text)
	}
	return draftRetry, nil // nobody shows anything now
}

// news is the text that is to be shown; false when nothing is to be.
func (p *progress) news() (text string, news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.streamer != nil:
		return p.text, p.away && p.text != p.written
	case p.text != "":
		text = p.text
	case p.plan != nil && acts(p.plan):
		text = planText(p.plan)
	case p.draft != 0: // what was shown is taken back
		text = "…"
	}
	return text, text != "" && text != p.seen
}

// bringHere has this engine show the draft. Its text is taken from memory, so that the
// row holds none.
func (p *progress) bringHere(s *sender) (again time.Duration, err error) {
	p.mu.Lock()
	show := p.show
	p.mu.Unlock()
	if show != nil && show.shows == s.shows {
		poke(show.fresh)
		return draftHereEvery, nil
	}
	delivery, err := p.write(channels.Body{})
	if err != nil || delivery == 0 {
		return draftRetry, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.draft != delivery {
		return draftRetry, nil
	}
	p.written = ""
	p.show = s.shows.show(Draft{Delivery: delivery, Turn: p.ref.TurnID, Conversation: p.conv, ReplyTo: p.replyTo}, true, p.body)
	if p.show == nil {
		return draftRetry, nil
	}
	return draftHereEvery, nil
}

// body is what is to be shown now.
func (p *progress) body() (channels.Body, bool) {
	text, news := p.news()
	if !news {
		return channels.Body{}, false
	}
	return p.line.draftBody(p.conv, text), true
}

// bringAway writes the text for another engine to show.
func (p *progress) bringAway(text string) error {
	p.mu.Lock()
	same := text == p.written
	p.mu.Unlock()
	if same {
		return nil
	}
	body := channels.Body{Text: text} // a Streamer's clients are shown Markdown
	if p.streamer == nil {
		body = p.line.draftBody(p.conv, text)
	}
	delivery, err := p.write(body)
	if err != nil || delivery == 0 {
		return err
	}
	p.mu.Lock()
	p.written, p.show = text, nil
	p.mu.Unlock()
	p.tell()
	retry.Sleep(p.ctx, draftRowEvery)
	return nil
}

// write makes sure that the draft has a row with this body; 0 when nothing is to be
// shown any more.
func (p *progress) write(body channels.Body) (delivery int64, err error) {
	p.writing <- struct{}{}
	defer func() { <-p.writing }()
	if _, news := p.news(); !news || p.ctx.Err() != nil {
		return 0, nil
	}
	delivery, err = p.line.router.Ledger.Draft(p.ctx, p.ref, p.replyTo, body)
	if err != nil {
		if errors.Is(err, ErrFenced) {
			p.end()
		}
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draft = delivery
	return delivery, nil
}
