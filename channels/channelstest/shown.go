package channelstest

import (
	"context"
	"slices"
	"strconv"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
)

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

// Change implements scripted.Link.
func (p *Platform) Change(ctx context.Context, c scripted.Change) (reply scripted.Reply, err error) {
	began, err := p.enter()
	if err != nil {
		return reply, err
	}
	switch c.Op {
	case scripted.OpTurn, scripted.OpFind, scripted.OpToast, scripted.OpFetch: // no fault is planned for these
		p.change(func() { reply, err = p.asked(c) })
		return reply, err
	}
	shows := slices.Contains([]scripted.Op{scripted.OpEdit, scripted.OpDraft, scripted.OpDelete, scripted.OpUnbutton}, c.Op)
	fault := p.changes.fault(c, shows)
	if err := p.wait(ctx, fault.Delay, began); err != nil {
		return reply, err
	}
	if err := fault.refusal(); err != nil {
		return reply, err
	}
	p.change(func() { reply.ID, err = p.apply(c) })
	if err == nil && fault.LoseAnswer {
		return scripted.Reply{}, errLost
	}
	return reply, err
}

// asked answers what changes nothing that is shown, under the lock.
func (p *Platform) asked(c scripted.Change) (reply scripted.Reply, err error) {
	switch c.Op {
	case scripted.OpTurn:
		p.turns[c.ID] = append(p.turns[c.ID], channels.TurnState(c.Text))
		reply.ID = c.ID
	case scripted.OpToast:
		p.toasts = append(p.toasts, Toast{Callback: string(c.ID), Text: c.Text})
	case scripted.OpFetch:
		data, ok := p.files[string(c.ID)]
		if !ok {
			return reply, &channels.RefusedError{Op: "fetch", Reason: "there is no such file"}
		}
		reply.Data = data
	case scripted.OpFind:
		i := slices.IndexFunc(p.sent, func(s Sent) bool { return s.Conversation == c.Conversation && s.Nonce == c.Nonce })
		if reply.Found = i >= 0; reply.Found {
			reply.ID = p.sent[i].ID
		}
	}
	return reply, nil
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
			p.sent = append(p.sent, Sent{Post: c.Post, ID: id, At: time.Now(), Draft: true})
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
