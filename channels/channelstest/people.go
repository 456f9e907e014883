package channelstest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
)

// people is what the platform keeps of what people do.
type people struct {
	written map[writtenID]scripted.Message // the present state of each message
	newest  map[writer]string              // the newest message of each
	presses int64
	toasts  []Toast
	files   map[string][]byte // by attachment ID
}

type writtenID struct{ conversation, id string }

type writer struct{ conversation, user string }

func newPeople() people {
	return people{
		written: map[writtenID]scripted.Message{}, newest: map[writer]string{}, files: map[string][]byte{},
	}
}

// A Toast is what somebody who pressed a button was shown.
type Toast struct {
	Callback string
	Text     string // may be empty
}

// Say makes user write text in the direct conversation conv and returns the
// message's ID.
func (p *Platform) Say(conv, user, text string) string {
	return p.Write(scripted.Message{Conversation: conv, User: user, Text: text})
}

// Write makes somebody write m; ID and At are filled when empty.
func (p *Platform) Write(m scripted.Message) string {
	p.change(func() {
		p.messages++
		m.ID = cmp.Or(m.ID, "m"+strconv.FormatInt(p.messages, 10))
		p.keep(m)
		p.newest[writer{m.Conversation, m.User}] = m.ID
		p.happen(m)
	})
	return m.ID
}

// Newest is the ID of the newest message that user wrote in conv; empty: none.
func (p *Platform) Newest(conv, user string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newest[writer{conv, user}]
}

// Edit makes the author of the message id in conv change its text.
func (p *Platform) Edit(conv, id, text string) {
	p.Rewrite(conv, id, func(m *scripted.Message) { m.Text = text })
}

// Rewrite makes the author of a message change it as they like. The new state is
// told whole.
func (p *Platform) Rewrite(conv, id string, f func(*scripted.Message)) {
	p.change(func() {
		m, ok := p.written[writtenID{conv, id}]
		if !ok {
			panic("nobody wrote " + id + " in " + conv)
		}
		f(&m)
		m.Event, m.At = channels.EventEdited, time.Time{}
		m.Revision++
		p.keep(m)
		p.happen(m)
	})
}

// Happen tells m as it is, whatever the platform knows of it: an edit before its
// original, a kind of event that nobody knows. At is filled when zero.
func (p *Platform) Happen(m scripted.Message) { p.change(func() { p.happen(m) }) }

// Delete makes the author of the message id in conv take it back.
func (p *Platform) Delete(conv, id string) {
	p.change(func() {
		m, ok := p.written[writtenID{conv, id}]
		if !ok {
			panic("nobody wrote " + id + " in " + conv)
		}
		delete(p.written, writtenID{conv, id})
		p.happen(scripted.Message{
			Event: channels.EventDeleted, ID: id, Conversation: conv, Kind: m.Kind, Place: m.Place, User: m.User,
		})
	})
}

// Press makes user press the newest button of that label in conv and returns the
// press's callback, which Toasts tells it by. It panics when none is shown.
func (p *Platform) Press(conv, user, label string) (callback string) {
	p.change(func() {
		for _, s := range slices.Backward(p.sent) {
			i := slices.IndexFunc(s.Buttons, func(b channels.Button) bool { return b.Label == label })
			if string(s.Conversation) == conv && i >= 0 {
				callback = p.press(conv, user, string(s.ID), s.Buttons[i].Code)
				return
			}
		}
		panic("no button " + label + " is shown in " + conv)
	})
	return callback
}

// PressCode makes user press a button of that code under the message id, shown or
// not.
func (p *Platform) PressCode(conv, user, id, code string) (callback string) {
	p.change(func() { callback = p.press(conv, user, id, code) })
	return callback
}

func (p *Platform) press(conv, user, id, code string) (callback string) {
	p.presses++
	callback = "p" + strconv.FormatInt(p.presses, 10)
	m := p.place(conv)
	m.Event, m.ID, m.User, m.Callback, m.Code = channels.EventAction, id, user, callback, code
	p.happen(m)
	return callback
}

// React makes user put emoji on the message id in conv; with off they take it off.
func (p *Platform) React(conv, user, id, emoji string, off bool) {
	p.change(func() {
		m := p.place(conv)
		m.Event, m.ID, m.User, m.Added = channels.EventReaction, id, user, []string{emoji}
		if off {
			m.Added, m.Removed = nil, m.Added
		}
		p.happen(m)
	})
}

// Member tells that user let the bot into conv, or put it out.
func (p *Platform) Member(conv, user string, what channels.Membership) {
	p.change(func() {
		m := p.place(conv)
		m.Event, m.User, m.Membership = channels.EventMember, user, what
		p.happen(m)
	})
}

// Move gives the group former another ID; what is shown there moves along.
func (p *Platform) Move(former, now string) {
	p.change(func() {
		for id, m := range p.written {
			if id.conversation == former {
				delete(p.written, id)
				m.Conversation, m.Place = now, now
				p.keep(m)
			}
		}
		for i := range p.sent {
			if string(p.sent[i].Conversation) == former {
				p.sent[i].Conversation = channels.ConversationID(now)
			}
		}
		p.happen(scripted.Message{
			Event: channels.EventMoved, Conversation: now, Kind: string(channels.Group), Former: former,
		})
	})
}

// Upload puts a file on the platform, for somebody to attach to a message. A zero
// Size or ID of a is filled.
func (p *Platform) Upload(a channels.Attachment, data []byte) channels.Attachment {
	p.change(func() {
		a.ID = cmp.Or(a.ID, "f"+strconv.Itoa(len(p.files)+1))
		a.Size = cmp.Or(a.Size, int64(len(data)))
		p.files[a.ID] = slices.Clone(data)
	})
	return a
}

// Toasts lists the answers to presses, in order.
func (p *Platform) Toasts() []Toast {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.toasts)
}

// keep remembers the present state of a message.
func (p *Platform) keep(m scripted.Message) { p.written[writtenID{m.Conversation, m.ID}] = m }

// place is a message with nothing but where, by what was written there before.
func (p *Platform) place(conv string) scripted.Message {
	for id, m := range p.written {
		if id.conversation == conv {
			return scripted.Message{Conversation: conv, Kind: m.Kind, Place: m.Place, Title: m.Title}
		}
	}
	return scripted.Message{Conversation: conv}
}

func (p *Platform) happen(m scripted.Message) {
	if m.At.IsZero() {
		m.At = time.Now().UTC()
	}
	data, err := json.Marshal(m)
	if err != nil {
		panic(err) // a Message always encodes
	}
	p.send(data)
}
