package channelstest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
)

// errLost is what a client in process sees when the connection ends without an
// answer: nobody knows what became of the call.
var errLost = errors.New("the connection was lost")

// Platform is a chat platform in memory. Like one with long polling it keeps every
// event until the bot confirms it. It may be used by several goroutines at once.
type Platform struct {
	state
	events   int64 // numbers given to events
	updates  int64 // numbers given to updates
	pending  []scripted.Update
	sent     []Sent
	tries    []scripted.Post
	calls    int
	script   []Fault
	onSend   func(scripted.Post) Fault
	window   time.Duration
	repeat   int
	reorder  bool
	deaf     bool
	down     bool
	revoked  bool
	dropped  int // counts Drop: a call that began before one is cut
	messages int64
	servers  []*Server
	people
	outside
}

var _ scripted.Link = (*Platform)(nil)

// Sent is a part that the platform shows.
type Sent struct {
	scripted.Post
	ID    channels.MessageID
	At    time.Time
	Draft bool // it grows still
	Edits int  // how often it was changed
}

// NewPlatform makes an empty platform.
func NewPlatform() *Platform {
	return &Platform{state: newState(), repeat: 1, people: newPeople(), outside: outside{beat: time.Second}}
}

// Scripted is a channel (kind "scripted") on p in this process. Its abilities are
// those that cfg names; cfg.Addr is not used.
func Scripted(name string, p *Platform, cfg scripted.Config) channels.Channel {
	return scripted.Over(name, p, cfg, slog.New(slog.DiscardHandler))
}

// Garble tells the bot something that may not be readable.
func (p *Platform) Garble(data []byte) { p.change(func() { p.send(slices.Clone(data)) }) }

func (p *Platform) send(data []byte) {
	p.events++
	for range p.repeat {
		p.updates++
		p.pending = append(p.pending, scripted.Update{ID: p.updates, Event: p.events, Data: data})
	}
}

// Pending counts the updates that are not confirmed.
func (p *Platform) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pending)
}

// Sent lists what the platform shows, in the order it came.
func (p *Platform) Sent() []Sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

// SentIn lists what the platform shows in one conversation.
func (p *Platform) SentIn(conv string) []Sent {
	return slices.DeleteFunc(p.Sent(), func(s Sent) bool { return string(s.Conversation) != conv })
}

// Tries lists every part that reached the platform, whatever became of it.
func (p *Platform) Tries() []scripted.Post {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.tries)
}

// Calls counts the calls of every kind that reached the platform.
func (p *Platform) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// pollAtMost is how many updates one poll is answered with.
const pollAtMost = 1000

// Poll implements scripted.Link.
func (p *Platform) Poll(ctx context.Context, confirm []int64) ([]scripted.Update, error) {
	began, err := p.enter()
	if err != nil {
		return nil, err
	}
	if len(confirm) > 0 {
		confirmed := map[int64]bool{}
		for _, id := range confirm {
			confirmed[id] = true
		}
		p.change(func() {
			p.pending = slices.DeleteFunc(p.pending, func(u scripted.Update) bool { return confirmed[u.ID] })
		})
	}
	n, beat, done := p.pollBegins()
	defer done()
	idle := false
	for {
		p.mu.Lock()
		changed, updates := p.changed, slices.Clone(p.pending)
		deaf := p.deaf || n <= p.muted
		ready := (len(updates) > 0 || idle) && !deaf
		cut, revoked := p.dropped != began, p.revoked
		if p.reorder {
			slices.Reverse(updates)
		}
		p.mu.Unlock()
		updates = updates[:min(len(updates), pollAtMost)]
		switch {
		case revoked:
			return nil, channels.ErrUnauthorized
		case cut:
			return nil, errLost
		case ready:
			return updates, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		case <-beat:
			idle = true
		}
	}
}

// enter begins a call.
func (p *Platform) enter() (began int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return 0, channels.ErrNotConnected
	}
	p.calls++
	if p.revoked {
		return 0, channels.ErrUnauthorized
	}
	return p.dropped, nil
}

// Post implements scripted.Link.
func (p *Platform) Post(ctx context.Context, post scripted.Post) (channels.MessageID, error) {
	began, err := p.enter()
	if err != nil {
		return "", err
	}
	fault := p.fault(post)
	if err := p.wait(ctx, fault.Delay, began); err != nil {
		return "", err
	}
	if err := fault.refusal(); err != nil {
		return "", err
	}
	var id channels.MessageID
	p.change(func() { id = p.show(post) })
	if fault.LoseAnswer {
		return "", errLost
	}
	return id, nil
}

// show applies a post and returns the message's ID; a repeated nonce within the
// window yields the first one's.
func (p *Platform) show(post scripted.Post) channels.MessageID {
	now := time.Now()
	if p.window > 0 && post.Nonce != "" {
		for _, s := range p.sent {
			if s.Nonce == post.Nonce && s.Conversation == post.Conversation && now.Sub(s.At) < p.window {
				return s.ID
			}
		}
	}
	p.messages++
	id := channels.MessageID("m" + strconv.FormatInt(p.messages, 10))
	p.sent = append(p.sent, Sent{Post: post, ID: id, At: now})
	return id
}

// Find implements scripted.Link.
func (p *Platform) Find(_ context.Context, conv channels.ConversationID, nonce string) (channels.MessageID, bool, error) {
	if _, err := p.enter(); err != nil {
		return "", false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sent {
		if s.Conversation == conv && s.Nonce == nonce {
			return s.ID, true, nil
		}
	}
	return "", false, nil
}
