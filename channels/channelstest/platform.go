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
	*state
	network
	faults
	people
	events   int64 // numbers given to events
	updates  int64 // numbers given to updates
	messages int64 // numbers given to messages
	pending  []scripted.Update
	sent     []Sent
	window   time.Duration
	repeat   int
	reorder  bool
	commands []channels.CommandSet
	turns    map[channels.MessageID][]channels.TurnState
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
	s := newState()
	return &Platform{
		state: s, network: network{state: s, beat: time.Second},
		faults: faults{planned[scripted.Post]{state: s}, planned[scripted.Change]{state: s}},
		people: newPeople(), repeat: 1, turns: map[channels.MessageID][]channels.TurnState{},
	}
}

// Scripted is a channel (kind "scripted") on p in this process. Its abilities are
// those that cfg names; cfg.Addr is not used.
func Scripted(name string, p *Platform, cfg scripted.Config) channels.Channel {
	return scripted.Over(name, p, cfg, slog.New(slog.DiscardHandler))
}

// Garble tells the bot something that may not be readable.
func (p *Platform) Garble(data []byte) { p.change(func() { p.send(slices.Clone(data)) }) }

// Repeat makes every later event come n times under the same message ID.
func (p *Platform) Repeat(n int) { p.change(func() { p.repeat = max(n, 1) }) }

// Reorder makes the platform tell the newest event first.
func (p *Platform) Reorder(on bool) { p.change(func() { p.reorder = on }) }

// Dedupe makes the platform show a nonce once within window; 0 stops that.
func (p *Platform) Dedupe(window time.Duration) { p.change(func() { p.window = window }) }

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

// Post implements scripted.Link.
func (p *Platform) Post(ctx context.Context, post scripted.Post) (channels.MessageID, error) {
	began, err := p.enter()
	if err != nil {
		return "", err
	}
	fault := p.posts.fault(post, true)
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
