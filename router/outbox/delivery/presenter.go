package delivery

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	"switchboard/router/outbox"

	"switchboard/channels"
	"switchboard/internal/retry"
)

const (
	// takeOverTimeout is how long a part waits for a call about the draft whose place it
	// takes. To edit what is shown is quieter than to send it again.
	takeOverTimeout = 250 * time.Millisecond
	// draftFarewell is how long a call about a draft may go on after the channel's end:
	// cut off, nobody would know what it showed.
	draftFarewell = 2 * time.Second
	// readEvery is the least time between two reads of the drafts in the database.
	readEvery = 200 * time.Millisecond
)

// A presenter shows what grows in a channel's conversations: the previews of turns that
// run here from memory, of turns on other engines from their rows. Where the channel
// sends it does so under the channel's lease, one draft each. Best effort; no turn and
// no part waits for it, but for the moment in which a call is likely to end.
type presenter struct {
	outbounds
	name   string
	engine Engine
	limits *limits
	ledger interface {
		Drafts
		ShownTurns
	}
	runs  func(turn int64) bool // on this engine
	log   *slog.Logger
	again chan struct{} // the database is to be read

	mu     sync.Mutex
	ctx    context.Context // of the latest lease; nil: there was none
	queue  *queue          // of that lease
	lease  *lease
	drafts map[int64]*draft        // of that lease, by delivery
	rows   map[int64]channels.Body // what other engines show by the database, by delivery
	turns  map[int64]*shownTurn    // what is shown of turns
	work   sync.WaitGroup
}

// run shows drafts until ctx, which is the lease's, ends; then it waits for the calls.
func (p *presenter) run(ctx context.Context, queue *queue, lease *lease) {
	p.mu.Lock()
	p.ctx, p.queue, p.lease, p.drafts, p.rows, p.turns = ctx, queue, lease, map[int64]*draft{}, nil, nil
	p.mu.Unlock()
	p.watch(ctx, func(list []outbox.Draft) {
		p.follow(list)
		p.followTurns(ctx)
	})
	farewell := time.AfterFunc(draftFarewell, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, d := range p.drafts {
			d.cut()
		}
	})
	defer farewell.Stop()
	p.mu.Lock() // who adds work reads ctx under it
	p.mu.Unlock()
	p.work.Wait()
}

// holds says that this engine shows the channel's drafts.
func (p *presenter) holds() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holding()
}

// holding is holds under the lock.
func (p *presenter) holding() bool { return p.ctx != nil && p.ctx.Err() == nil }

// quiet says that this engine sends for the channel and has nothing to send in conv.
func (p *presenter) quiet(conv channels.ConversationID) bool {
	p.mu.Lock()
	queue := p.queue
	p.mu.Unlock()
	return queue != nil && queue.quiet(conv)
}

// poll has the database read, which has something new about drafts.
func (p *presenter) poll() { retry.Signal(p.again) }

// watch gives the channel's drafts to follow, when asked and now and then, until ctx
// ends.
func (p *presenter) watch(ctx context.Context, follow func([]outbox.Draft)) {
	for ctx.Err() == nil {
		list, err := p.ledger.Drafts(ctx, p.name)
		if err == nil {
			follow(list)
		} else if ctx.Err() == nil {
			p.log.WarnContext(ctx, "cannot look at the drafts", "error", err)
		}
		retry.Sleep(ctx, readEvery)
		retry.Await(ctx, p.again, pollIdle)
	}
}

// follow shows the drafts of other engines, retracts what is needed no more, and
// forgets what has become of the others.
func (p *presenter) follow(list []outbox.Draft) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := map[int64]bool{}
	p.rows = map[int64]channels.Body{}
	for i := range list {
		row := &list[i]
		if row.Stage == outbox.DraftUnknown && !p.finds() {
			continue // nobody will know
		}
		known[row.Delivery] = true
		d := p.drafts[row.Delivery]
		switch {
		case row.Stage == outbox.DraftUnknown, row.Stage == outbox.DraftLeave:
			// Of one that is unknown, a call under way may yet tell.
			if d == nil || d.over() || row.Stage == outbox.DraftLeave && d.text != nil {
				p.begin(*row, nil, nil, nil)
			}
		case row.Body.Text == "" || p.runs(row.Turn):
			// The turn's engine shows it.
		case d != nil && d.ctx.Err() == nil:
			p.rows[row.Delivery] = row.Body
			retry.Signal(d.news)
		default:
			p.rows[row.Delivery] = row.Body
			text := func() (channels.Body, bool) {
				p.mu.Lock()
				defer p.mu.Unlock()
				body, ok := p.rows[row.Delivery]
				return body, ok
			}
			p.begin(*row, text, func() channels.Body { return channels.Body{Text: nothingYet} }, make(chan struct{}, 1))
		}
	}
	for id, d := range p.drafts {
		if _, shown := p.rows[id]; !shown && d.text != nil && !p.runs(d.row.Turn) {
			d.stop()
		}
		// What a message took the place of is asked for once more, if it is unknown.
		if !known[id] && d.over() && (!d.unanswered || d.row.PlatformID == "") {
			d.stop()
			delete(p.drafts, id)
		}
	}
}

// present shows a draft of a turn that runs here, until it is stopped: first is that of draft.
// News says that text may be another. It returns nil when that cannot be now.
func (p *presenter) present(row outbox.Draft, text func() (channels.Body, bool), first func() channels.Body, news chan struct{}) *draft {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begin(row, text, first, news)
}

// begin shows a draft, or retracts it where there is no text. It returns nil while
// the channel is not held, and where the last call about the draft is not over or was
// never answered. Called under the lock.
func (p *presenter) begin(row outbox.Draft, text func() (channels.Body, bool), first func() channels.Body, news chan struct{}) *draft {
	if !p.holding() || row.Stage == outbox.DraftBegun && row.Fence != p.lease.Fence && !p.finds() {
		return nil // or shown where nobody finds it
	}
	if former := p.drafts[row.Delivery]; former != nil {
		former.stop()
		if text == nil {
			former.cut()
		} else if !former.over() || former.unanswered {
			return nil
		}
	}
	unknown := row.Stage == outbox.DraftUnknown
	row.Stage = outbox.DraftOpen // until the database says more
	d := &draft{presenter: p, row: row, text: text, first: first, news: news, unknown: unknown}
	d.ctx, d.stop = context.WithCancel(p.ctx)
	d.ended, d.end = context.WithCancel(context.Background())
	d.calls, d.cut = context.WithCancel(context.WithoutCancel(p.ctx))
	p.drafts[row.Delivery] = d
	p.work.Go(d.run)
	return d
}

// takeOver says that a message takes the draft's place; sure, that nothing will change
// any more what is shown of it.
func (p *presenter) takeOver(delivery int64) (sure bool) {
	p.mu.Lock()
	d := p.drafts[delivery]
	delete(p.drafts, delivery)
	p.mu.Unlock()
	if d == nil {
		return true
	}
	d.stop()
	retry.Await(d.calls, d.ended.Done(), takeOverTimeout)
	if !d.over() {
		d.cut()
		return false
	}
	return !d.unanswered
}

// relay shows the clients that are connected to this engine what turns on other engines
// write, until ctx ends.
func (p *presenter) relay(ctx context.Context) {
	streamer := p.streamer()
	shown := map[int64]channels.ConversationID{} // by turn
	p.watch(ctx, func(list []outbox.Draft) {
		former := shown
		shown = map[int64]channels.ConversationID{}
		for i := range list {
			row := &list[i]
			if row.Body.Text == "" || p.runs(row.Turn) {
				continue // the turn itself shows it, or nothing
			}
			delete(former, row.Turn)
			shown[row.Turn] = row.Conversation.ID
			streamer.Stream(row.Conversation.ID, row.Turn, row.Body.Text)
		}
		for turn, conv := range former {
			if !p.runs(turn) {
				streamer.Stream(conv, turn, "")
			}
		}
	})
}

// showTyping shows once that a turn of another engine is at work there. It does not block.
func (p *presenter) showTyping(conv channels.Conversation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holding() {
		ctx := p.ctx
		p.work.Go(func() { p.typing(ctx, conv) })
	}
}

// typing shows typing once, if there is budget to spare and nothing said before is
// still on its way.
func (p *presenter) typing(ctx context.Context, conv channels.Conversation) {
	typer, ok := p.channel().(channels.Typer)
	if !ok || !p.quiet(conv.ID) || !p.engine.Safe() || !p.limits.spareOf(p.rates(conv), time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, typingEvery)
	defer cancel()
	_ = typer.Typing(ctx, conv) // the next one may succeed
}

func sameBody(a, b channels.Body) bool { return a.Text == b.Text && bytes.Equal(a.Rich, b.Rich) }
