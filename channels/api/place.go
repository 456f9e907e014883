package api

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router/core"
)

// A place is a session as a caller names it.
type place struct {
	channel *Channel // nil: of another kind, where nothing is put in by a call
	conv    channels.ConversationID
	key     string // of the session: "channel:conversation"
}

// placeOf is the session of a conversation of a channel.
func placeOf(channel *Channel, conv channels.ConversationID) place {
	return place{channel, conv, core.SessionKey(channels.Conversation{Channel: channel.Name(), ID: conv})}
}

// conversation is the place as events name it.
func (p place) conversation() channels.Conversation {
	return channels.Conversation{Channel: p.channel.Name(), ID: p.conv, Kind: channels.Direct, Place: string(p.conv)}
}

// message is the event of a message there.
func (p place) message(from channels.Sender, text, id, key string) channels.Event {
	return channels.Event{
		Kind: channels.EventMessage, Key: channels.EventKey(key), Conversation: p.conversation(), Sender: from,
		Message: channels.Message{ID: channels.MessageID(id), Text: text}, At: time.Now().UTC(),
	}
}

// place finds the session that a caller calls by a name. Whoever runs the program means a conversation of the terminal,
// of that person or their own; a token means one of programs; a whole key with a colon is of any channel.
func (a *API) place(c *Caller, name, person string) (place, error) {
	if channel, id, whole := strings.Cut(name, ":"); whole {
		if err := c.may(Admin); err != nil {
			return place{}, err
		}
		p := place{conv: channels.ConversationID(id), key: name}
		for _, ours := range []*Channel{a.Channel, a.Console} {
			if ours.Name() == channel {
				p.channel = ours
			}
		}
		return p, nil
	}
	if err := api.CheckSession(name); err != nil {
		return place{}, api.Failed(http.StatusBadRequest, "", "%v", err)
	}
	if !c.Local {
		return placeOf(a.Channel, channels.ConversationID(name)), nil
	}
	person = cmp.Or(person, a.Owner)
	if err := api.CheckPerson(person); err != nil {
		return place{}, api.Failed(http.StatusBadRequest, "", "%v", err)
	}
	return placeOf(a.Console, channels.ConversationID(person+"/"+name)), nil
}

// who is the person that a token means by a name or an identity, if it may speak for them; nil: it may not.
func (a *API) who(c *Caller, user string) *core.Person {
	p := a.People.Named(user)
	if p == nil {
		p = a.People.Identified(user)
	}
	if !c.SpeaksFor(p) {
		return nil
	}
	return p
}

// mayRead says whether the caller may read what is somebody's.
func (a *API) mayRead(c *Caller, person string) bool {
	return c.Has(Admin) || c.SpeaksFor(a.People.Named(person))
}

// forAdmin says whether the caller speaks for an admin.
func (a *API) forAdmin(c *Caller) bool { return c.Local || a.admin(c) != "" }

// needsAdmin refuses who speaks for no admin.
func (a *API) needsAdmin(c *Caller) error {
	if a.forAdmin(c) {
		return nil
	}
	return api.Failed(http.StatusForbidden, "make a token that speaks for an admin", "the token %q speaks for no admin", c.Token)
}

// admin is the first admin for whom a token speaks; empty: it speaks for none.
func (a *API) admin(c *Caller) string {
	for _, name := range c.People {
		if p := a.People.Named(name); p != nil && p.Name == name && p.Role == core.RoleAdmin {
			return name
		}
	}
	return ""
}
