package telegram

import (
	"slices"
	"time"

	"switchboard/channels"
)

// merge is an album as one message: the first one's, with the texts and files of all.
func merge(parts []picture) channels.Message {
	whole := parts[0].Message
	whole.Attachments = slices.Clone(whole.Attachments)
	whole.Mentions = slices.Clone(whole.Mentions)
	for _, m := range parts[1:] {
		switch {
		case whole.Text == "":
			whole.Text = m.Text
		case m.Text != "":
			whole.Text += "\n\n" + m.Text
		}
		whole.Attachments = append(whole.Attachments, m.Attachments...)
		whole.Mentions = append(whole.Mentions, m.Mentions...)
		whole.Mentioned = whole.Mentioned || m.Mentioned
		whole.Elsewhere = whole.Elsewhere || m.Elsewhere
	}
	return whole
}

// rememberAlbums is how many albums are known at most, the newest.
const rememberAlbums = 256

// albums are those that came in this process, so that what changes one picture of an
// album, or comes late, tells the whole new state of its message.
//
// An album's message has the key of its first picture, and whatever adds a picture to
// it later has that picture's own key. So a picture that is told again has a key that
// is known, in whatever company it comes, or is told of again as part of the whole,
// which changes nothing. They are used by one Run at a time.
type albums struct {
	known map[albumKey]*album
	order []albumKey
}

type album struct {
	first channels.Event // of the message that it became
	parts []picture
}

// A picture is one message of an album.
type picture struct {
	channels.Message
	update int64     // the number of the update that told its state
	edited time.Time // zero: it was not
}

func (a *album) index(id channels.MessageID) int {
	return slices.IndexFunc(a.parts, func(p picture) bool { return p.ID == id })
}

// ofAlbum is the album that u is of; zero: none.
func (u *update) ofAlbum() albumKey {
	switch {
	case u.event == nil:
	case u.album != "":
		return albumKey{u.chat, u.album}
	case u.edits != "":
		return albumKey{u.chat, u.edits}
	}
	return albumKey{}
}

// An acceptor hands events in until they are taken.
type acceptor func([]channels.Event) ([]channels.Receipt, error)

// take hands in what u means for its album; later is what the platform told behind it.
func (a *albums) take(u update, later []update, accept acceptor) error {
	known := a.known[u.ofAlbum()]
	switch {
	case u.edits != "":
		return edit(known, u, accept)
	case known != nil:
		return known.grow(u, accept)
	}
	receipts, err := accept([]channels.Event{*u.event})
	if err != nil {
		return err
	}
	fresh := &album{*u.event, u.parts}
	if len(receipts) == 1 && receipts[0].Duplicate && len(u.parts) > 1 {
		if err := fresh.again(u, later, accept); err != nil {
			return err
		}
	}
	a.remember(u.ofAlbum(), fresh)
	return nil
}

// again hands in the pictures behind the first of an album that was taken before, as
// nobody knows with how many of them. What the platform told of later edits is in it:
// their own events may have been taken then too, and change nothing now.
func (a *album) again(u update, later []update, accept acceptor) error {
	parts := slices.Clone(a.parts)
	for _, l := range later {
		if l.edits != "" && l.ofAlbum() == u.ofAlbum() {
			if i := a.index(l.event.Message.ID); i >= 0 {
				parts[i].Message = l.event.Message
			}
		}
	}
	return a.add(u.event, a.parts[1:], parts, accept)
}

// grow adds the pictures that came after the album was taken.
func (a *album) grow(u update, accept acceptor) error {
	fresh := slices.DeleteFunc(u.parts, func(p picture) bool { return a.index(p.ID) >= 0 })
	if len(fresh) == 0 {
		return nil
	}
	parts := slices.Concat(a.parts, fresh)
	if err := a.add(u.event, fresh, parts, accept); err != nil {
		return err
	}
	a.parts = parts
	return nil
}

// add tells the album's state with parts, under the key of each of the pictures that
// are new to it.
func (a *album) add(event *channels.Event, fresh, parts []picture, accept acceptor) error {
	events := make([]channels.Event, len(fresh))
	for i, p := range fresh {
		e := *event
		e.Kind, e.Message = channels.EventEdited, merge(parts)
		e.Key = siblingKey(a.first.Key, p.ID)
		events[i] = e
	}
	_, err := accept(events)
	return err
}

// edit tells the state of an album with one picture's message changed or added; where
// the album is not known, that of the picture alone.
func edit(a *album, u update, accept acceptor) error {
	event := *u.event
	if a == nil {
		_, err := accept([]channels.Event{event})
		return err
	}
	parts, fresh := slices.Clone(a.parts), picture{event.Message, u.id, event.At}
	switch i := a.index(event.Message.ID); {
	case i < 0:
		parts = append(parts, fresh)
	case u.id <= parts[i].update && !event.At.After(parts[i].edited) && !parts[i].edited.IsZero():
		return nil // told again; what came after it holds
	default:
		parts[i] = fresh
	}
	event.Message = merge(parts)
	event.Key = editKey(u.bot, &event)
	if _, err := accept([]channels.Event{event}); err != nil {
		return err
	}
	a.parts = parts
	return nil
}

// remember keeps an album that was taken.
func (a *albums) remember(key albumKey, fresh *album) {
	if a.known == nil {
		a.known = map[albumKey]*album{}
	}
	if len(a.order) == rememberAlbums {
		delete(a.known, a.order[0])
		a.order = a.order[1:]
	}
	a.known[key], a.order = fresh, append(a.order, key)
}
