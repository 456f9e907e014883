package channelstest

import (
	"context"
	"slices"
	"strconv"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
)

// outside is what the platform keeps of what the bot does besides posting.
type outside struct {
	changes    []scripted.Change
	plan       []Fault // of the next changes
	onChange   func(scripted.Change) Fault
	commands   []channels.CommandSet
	turns      map[channels.MessageID][]channels.TurnState
	beat       time.Duration // an open poll is answered so often, with nothing
	polls      int           // begun
	muted      int           // polls up to this one are never answered
	open, most int           // polls open now, and at most
}

// NextChange plans the faults of the next changes, one each, before OnChange is
// asked. Probes, typing and menus are no changes in this sense.
func (p *Platform) NextChange(faults ...Fault) {
	p.change(func() { p.plan = append(p.plan, faults...) })
}

// OnChange asks f about every change that NextChange has no fault for, of whichever
// kind; nil stops that. f is called without locks held and possibly by several
// goroutines at once.
func (p *Platform) OnChange(f func(scripted.Change) Fault) { p.change(func() { p.onChange = f }) }

// Changes lists every change of these kinds that reached the platform, whatever
// became of it; with no kind, of all.
func (p *Platform) Changes(ops ...scripted.Op) []scripted.Change {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.changes), func(c scripted.Change) bool {
		return len(ops) > 0 && !slices.Contains(ops, c.Op)
	})
}

// Turn lists the states that were shown at a message of somebody's.
func (p *Platform) Turn(id channels.MessageID) []channels.TurnState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.turns[id])
}

// Commands is the menu as it was set last.
func (p *Platform) Commands() []channels.CommandSet {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.commands)
}

// Vanish makes somebody take a message of the bot away.
func (p *Platform) Vanish(id channels.MessageID) { p.change(func() { p.vanish(id) }) }

// Beat makes the platform answer an open poll so often, with nothing to tell; 0:
// never. It begins with a second.
func (p *Platform) Beat(every time.Duration) { p.change(func() { p.beat = every }) }

// Mute keeps the polls that are open, and never answers them; the next ones are well.
func (p *Platform) Mute() { p.change(func() { p.muted = p.polls }) }

// MostPolls is how many polls were open at once, at most.
func (p *Platform) MostPolls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

// pollBegins counts a poll and returns its number, the channel that its beat comes
// by, and what to call at its end.
func (p *Platform) pollBegins() (n int, beat <-chan time.Time, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.polls++
	p.open++
	p.most = max(p.most, p.open)
	stop := func() bool { return false }
	if p.beat > 0 {
		timer := time.NewTimer(p.beat)
		beat, stop = timer.C, timer.Stop
	}
	return p.polls, beat, func() {
		stop()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.open--
	}
}

// Change implements scripted.Link.
func (p *Platform) Change(ctx context.Context, c scripted.Change) (channels.MessageID, error) {
	began, err := p.enter()
	if err != nil {
		return "", err
	}
	if c.Op == scripted.OpTurn { // no fault is planned for it
		p.change(func() {
			if p.turns == nil {
				p.turns = map[channels.MessageID][]channels.TurnState{}
			}
			p.turns[c.ID] = append(p.turns[c.ID], channels.TurnState(c.Text))
		})
		return c.ID, nil
	}
	fault := p.changeFault(c)
	if err := p.wait(ctx, fault.Delay, began); err != nil {
		return "", err
	}
	if err := fault.refusal(); err != nil {
		return "", err
	}
	id := c.ID
	p.change(func() { id, err = p.apply(c) })
	if err == nil && fault.LoseAnswer {
		return "", errLost
	}
	return id, err
}

func (p *Platform) changeFault(c scripted.Change) (fault Fault) {
	var ask func(scripted.Change) Fault
	p.change(func() {
		p.changes = append(p.changes, c)
		shows := slices.Contains([]scripted.Op{scripted.OpEdit, scripted.OpDraft, scripted.OpDelete, scripted.OpUnbutton}, c.Op)
		if shows && len(p.plan) > 0 {
			fault, p.plan = p.plan[0], p.plan[1:]
			return
		}
		ask = p.onChange
	})
	if ask != nil {
		return ask(c)
	}
	return fault
}

// apply does a change, under the lock.
func (p *Platform) apply(c scripted.Change) (channels.MessageID, error) {
	switch c.Op {
	case scripted.OpCommands:
		p.commands = c.Commands
		return "", nil
	case scripted.OpTyping, scripted.OpProbe:
		return "", nil
	case scripted.OpDelete:
		p.vanish(c.ID)
		return c.ID, nil
	case scripted.OpDraft:
		if c.ID == "" {
			p.messages++
			id := channels.MessageID("m" + strconv.FormatInt(p.messages, 10))
			post := scripted.Post{Conversation: c.Conversation, Text: c.Text, Rich: c.Rich, ReplyTo: c.ReplyTo, Nonce: c.Nonce}
			p.sent = append(p.sent, Sent{Post: post, ID: id, At: time.Now(), Draft: true})
			return id, nil
		}
	}
	i := slices.IndexFunc(p.sent, func(s Sent) bool { return s.ID == c.ID && s.Conversation == c.Conversation })
	if i < 0 {
		return "", channels.ErrNoMessage
	}
	s := &p.sent[i]
	if c.Op == scripted.OpUnbutton {
		s.Buttons = nil
		return c.ID, nil
	}
	s.Draft = c.Op == scripted.OpDraft
	s.Text, s.Rich, s.Buttons, s.Edits = c.Text, c.Rich, c.Buttons, s.Edits+1
	return c.ID, nil
}

func (p *Platform) vanish(id channels.MessageID) {
	p.sent = slices.DeleteFunc(p.sent, func(s Sent) bool { return s.ID == id })
}
