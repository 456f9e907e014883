package outbox

import (
	"bytes"
	"context"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/core"
)

const (
	// draftPatience is how long a part waits for a call about the draft whose place it
	// takes. To edit what is shown is quieter than to send it anew.
	draftPatience = 250 * time.Millisecond
	// draftFarewell is how long a call about a draft may go on after the channel's end:
	// cut off, nobody would know what it showed.
	draftFarewell = 2 * time.Second
	// lookEvery is the least time between two looks at the drafts in the ledger.
	lookEvery = 200 * time.Millisecond
)

// A presenter shows what grows in a channel's conversations: the previews of turns that
// run here from memory, of turns on other engines from their rows. Where the channel
// sends it does so under the channel's lease, one draft each. Best effort; no turn and
// no part waits for it, but for the moment in which a call is likely to end.
type presenter struct {
	line  *Connection
	again chan struct{} // the ledger is to be looked at

	mu     sync.Mutex
	ctx    context.Context         // of the latest hold; nil: there was none
	drafts map[int64]*draft        // of that hold, by delivery
	rows   map[int64]channels.Body // what other engines show by the ledger, by delivery
	turns  map[int64]*shownTurn    // what is shown of turns
	work   sync.WaitGroup
}

func newPresenter(l *Connection) *presenter {
	return &presenter{line: l, again: make(chan struct{}, 1)}
}

// run shows drafts until ctx, which is the hold's, ends; then it waits for the calls.
func (p *presenter) run(ctx context.Context) {
	p.mu.Lock()
	p.ctx, p.drafts, p.rows, p.turns = ctx, map[int64]*draft{}, nil, nil
	p.mu.Unlock()
	p.watch(ctx, func(list []Draft) {
		p.follow(list)
		p.followTurns(ctx)
	})
	farewell := time.AfterFunc(draftFarewell, p.cut)
	defer farewell.Stop()
	p.mu.Lock() // who adds work looks at ctx under it
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

// look asks for a look at the ledger, which has something new about drafts.
func (p *presenter) look() { retry.Signal(p.again) }

// watch hands the channel's drafts to follow, when asked and now and then, until ctx
// ends.
func (p *presenter) watch(ctx context.Context, follow func([]Draft)) {
	for ctx.Err() == nil {
		list, err := p.line.lines.Ledger.Drafts(ctx, p.line.Name)
		if err == nil {
			follow(list)
		} else if ctx.Err() == nil {
			p.line.lines.Log.WarnContext(ctx, "cannot look at the drafts", "channel", p.line.Name, "error", err)
		}
		retry.Sleep(ctx, lookEvery)
		retry.Await(ctx, p.again, lookIdle)
	}
}

// follow shows the drafts of other engines, takes back what is needed no more, and
// forgets what has become of the others.
func (p *presenter) follow(list []Draft) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := map[int64]bool{}
	p.rows = map[int64]channels.Body{}
	for i := range list {
		row := &list[i]
		if row.Stage == DraftUnknown && !p.finds() {
			continue // nobody will know
		}
		known[row.Delivery] = true
		d := p.drafts[row.Delivery]
		switch {
		case row.Stage == DraftUnknown:
			if d == nil || d.over() { // a call under way may yet tell
				p.begin(*row, nil, nil, nil)
			}
		case row.Stage == DraftLeave:
			if d == nil || d.text != nil || d.over() {
				p.begin(*row, nil, nil, nil)
			}
		case row.Body.Text == "" || p.line.lines.Runs(row.Turn):
			// The turn's engine shows it.
		case d != nil && d.ctx.Err() == nil:
			p.rows[row.Delivery] = row.Body
			retry.Signal(d.news)
		default:
			p.rows[row.Delivery] = row.Body
			text := func() (channels.Body, bool) { return p.inRow(row.Delivery) }
			p.begin(*row, text, func() channels.Body { return channels.Body{Text: nothingYet} }, make(chan struct{}, 1))
		}
	}
	for id, d := range p.drafts {
		if _, shown := p.rows[id]; !shown && d.text != nil && !p.line.lines.Runs(d.row.Turn) {
			d.stop()
		}
		// What a message took the place of is asked for once more, if it is uncertain.
		if !known[id] && d.over() && (!d.uncertain || d.row.PlatformID == "") {
			d.stop()
			delete(p.drafts, id)
		}
	}
}

// inRow is the text of a turn elsewhere.
func (p *presenter) inRow(delivery int64) (body channels.Body, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, ok = p.rows[delivery]
	return body, ok
}

// present shows a draft of a turn that runs here, until it is stopped: first is that of draft.
// News says that text may be another. It returns nil when that cannot be now.
func (p *presenter) present(row Draft, text func() (channels.Body, bool), first func() channels.Body, news chan struct{}) *draft {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begin(row, text, first, news)
}

// begin shows a draft, or takes it back where there is no text. It returns nil while
// the channel is not held, and where the last call about the draft is not over or was
// never answered. Called under the lock.
func (p *presenter) begin(row Draft, text func() (channels.Body, bool), first func() channels.Body, news chan struct{}) *draft {
	s := p.line.senderNow()
	if !p.holding() || row.Stage == DraftBegun && row.Fence != s.hold.Fence && !p.finds() {
		return nil // or shown where nobody finds it
	}
	if former := p.drafts[row.Delivery]; former != nil {
		former.stop()
		if text == nil {
			former.cut()
		} else if !former.over() || former.uncertain {
			return nil
		}
	}
	doubtful := row.Stage == DraftUnknown
	row.Stage = DraftOpen // until the ledger says more
	d := &draft{presenter: p, hold: s.hold, row: row, text: text, first: first, news: news, doubtful: doubtful, done: make(chan struct{})}
	d.ctx, d.stop = context.WithCancel(p.ctx)
	d.calls, d.cut = context.WithCancel(context.WithoutCancel(p.ctx))
	p.drafts[row.Delivery] = d
	p.work.Go(d.run)
	return d
}

// finds says that the platform can be asked whether something is shown.
func (p *presenter) finds() bool {
	_, ok := p.line.channel().(channels.Finder)
	return ok
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
	retry.Await(d.calls, d.done, draftPatience)
	if !d.over() {
		d.cut()
		return false
	}
	return !d.uncertain
}

// cut breaks off the calls that are under way.
func (p *presenter) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.drafts {
		d.cut()
	}
}

// relay shows the clients that are connected to this engine what turns on other engines
// write, until ctx ends.
func (p *presenter) relay(ctx context.Context) {
	streamer := p.line.streamer()
	if streamer == nil || p.line.lines.Wakes == nil {
		return
	}
	shown := map[int64]channels.ConversationID{} // by turn
	p.watch(ctx, func(list []Draft) {
		former := shown
		shown = map[int64]channels.ConversationID{}
		for i := range list {
			row := &list[i]
			if row.Body.Text == "" || p.line.lines.Runs(row.Turn) {
				continue // the turn itself shows it, or nothing
			}
			delete(former, row.Turn)
			shown[row.Turn] = row.Conversation.ID
			streamer.Stream(row.Conversation.ID, row.Turn, row.Body.Text)
		}
		for turn, conv := range former {
			if !p.line.lines.Runs(turn) {
				streamer.Stream(conv, turn, "")
			}
		}
	})
}

// onWake follows a wake about what is shown beside messages: WakeDraft, WakeTyping,
// WakeAll. It does not block.
func (p *presenter) onWake(w core.Wake) {
	if w.Kind != core.WakeTyping {
		p.look()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holding() {
		ctx := p.ctx
		p.work.Go(func() { p.typing(ctx, w.At()) })
	}
}

// streamer is the channel as one whose clients read for themselves and see what grows;
// nil: they do not.
func (l *Connection) streamer() channels.Streamer {
	streamer, _ := l.channel().(channels.Streamer)
	return streamer
}

// drafts says whether a conversation with these features is shown what grows.
func (l *Connection) drafts(features channels.Features) bool {
	_, drafts := l.channel().(channels.Drafter)
	_, edits := l.channel().(channels.Editor)
	return drafts && edits && features.DraftEvery > 0
}

func sameBody(a, b channels.Body) bool { return a.Text == b.Text && bytes.Equal(a.Rich, b.Rich) }

// Presented counts the drafts that are shown, or to be shown, on this channel from here.
func (l *Connection) Presented() int {
	l.presenter.mu.Lock()
	defer l.presenter.mu.Unlock()
	return len(l.presenter.drafts)
}
