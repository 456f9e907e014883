package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"switchboard/channels"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/outbox/delivery"
)

// errDetached is returned by Accept for a channel that is detached: the events were not
// taken and must not be acknowledged.
var errDetached = errors.New("the channel is detached")

// An Attached is a channel with the router's part of its settings.
type Attached struct {
	channels.Channel
	Config ChannelConfig
}

// A channel is a line with the settings that say who may speak there. It is not changed: a
// decision that has one goes by the same rules to its end.
type channel struct {
	*delivery.Connection
	router  *Router // that it is attached to
	config  ChannelConfig
	adapter channels.Channel
	leaves  bool // it is detached, and turns of it may run still
}

// Channels are those that this engine runs, with their rules, as they are now. All that
// asks which there are, or what is allowed there, asks here.
type Channels struct {
	mu   sync.Mutex // of changes
	list atomic.Pointer[map[string]*channel]
}

// NewChannels returns the channels that a router begins with.
func NewChannels(list ...Attached) *Channels {
	byName := map[string]*channel{}
	for _, at := range list {
		byName[at.Name()] = &channel{config: at.Config, adapter: at.Channel}
	}
	c := &Channels{}
	c.list.Store(&byName)
	return c
}

// now are the channels by name, also those that are detached and have turns that run.
func (c *Channels) now() map[string]*channel { return *c.list.Load() }

// here is the channel of that name, if it is attached; nil: it is not.
func (c *Channels) here(name string) *channel {
	if ch := c.now()[name]; ch != nil && !ch.leaves {
		return ch
	}
	return nil
}

// names are those of the channels that are attached.
func (c *Channels) names() (names []string) {
	for name, ch := range c.now() {
		if !ch.leaves {
			names = append(names, name)
		}
	}
	return names
}

// List are the channels that are attached, in the order of their names.
func (c *Channels) List() (list []Attached) {
	for _, ch := range c.now() {
		if !ch.leaves {
			list = append(list, Attached{ch.adapter, ch.config})
		}
	}
	slices.SortFunc(list, func(a, b Attached) int { return cmp.Compare(a.Name(), b.Name()) })
	return list
}

// Rules are those of a channel on which turns may run, to be read only; nil: there is none.
func (c *Channels) Rules(name string) *ChannelConfig {
	if ch := c.now()[name]; ch != nil {
		return &ch.config
	}
	return nil
}

// strangers says that turns in a channel's groups are told what strangers said there.
func (c *Channels) strangers(name string) bool {
	rules := c.Rules(name)
	return rules != nil && rules.StrangerContext
}

// Adapter is the value of a channel on which turns may run; nil: there is none.
func (c *Channels) Adapter(name string) channels.Channel {
	if ch := c.now()[name]; ch != nil {
		return ch.adapter
	}
	return nil
}

// change replaces the channel of that name by what becomes of it; nil: it is forgotten.
func (c *Channels) change(name string, becomes func(was *channel) (*channel, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := maps.Clone(c.now())
	is, err := becomes(list[name])
	if err != nil {
		return err
	}
	if list[name] = is; is == nil {
		delete(list, name)
	}
	c.list.Store(&list)
	return nil
}

// Attach serves a channel from now on, in place of the one of its name if there is one. It
// does not wait: what the former has under way comes to its end first. Nothing changes on an
// error, which begins with the setting that is at fault.
func (r *Router) Attach(at Attached) error {
	err := r.Channels.change(at.Name(), func(*channel) (*channel, error) {
		line, err := r.Connections.Attach(delivery.Rated{Channel: at.Channel, Rate: at.Config.Rate})
		return &channel{Connection: line, router: r, config: at.Config, adapter: at.Channel}, err
	})
	r.turns.QueuedElsewhere()
	return err
}

// SetRules changes what the settings say of a channel that is attached, and keeps its connection.
func (r *Router) SetRules(name string, config ChannelConfig) error {
	return r.Channels.change(name, func(was *channel) (*channel, error) {
		if was == nil || was.leaves {
			return nil, fmt.Errorf("channels.%s: it is not attached", name)
		}
		is := *was
		is.config = config
		return &is, was.SetRate(config.Rate)
	})
}

// Detach serves a channel no more. It does not wait: nothing more is taken in at once, turns
// that run may end within the grace and are handed back then, what is due is sent meanwhile,
// and the rest waits until the channel is attached again, here or at another engine.
func (r *Router) Detach(name string) {
	_ = r.Channels.change(name, func(was *channel) (*channel, error) {
		if was == nil {
			return nil, nil
		}
		r.Connections.Detach(name)
		is := *was
		is.leaves = true
		return &is, nil
	})
}

// line is a channel on which turns may run; nil: there is none of that name.
func (c *Channels) line(name string) *delivery.Connection {
	if at := c.here(name); at != nil {
		return at.Connection
	}
	return nil
}

// left waits until no turn of a channel that is detached runs here any more, and forgets the
// channel then. It ends with ctx when the channel is attached again.
func (r *Router) left(ctx context.Context, name string) {
	r.turns.Leave(ctx, name, r.Grace)
	_ = r.Channels.change(name, func(is *channel) (*channel, error) {
		if ctx.Err() == nil && is != nil && is.leaves {
			return nil, nil
		}
		return is, nil
	})
}

// Notice renders a fixed text of ours, with commands as people write them there.
func (c *channel) Notice(event channels.Event, text string) *outbox.Reply {
	return c.Connection.Notice(event, c.router.asTyped(c.Command(event.Conversation), text))
}

// answered renders what a command answers.
func (c *channel) answered(event channels.Event, person *core.Person, answer commands.Answer) *outbox.Reply {
	shown := c.Offers(event.Conversation, answer.Buttons)
	reply := c.Notice(event, answer.Text+commands.TypedOut(answer.Buttons[shown:]))
	reply.Taint = answer.Taint
	c.Offer(reply, person.Name, answer.Buttons, shown)
	return reply
}

// noticed makes an entry one that is kept and answered by text alone; with no text
// it is only kept.
func (l *channel) noticed(entry classified, text string) classified {
	refused := &intake.ControlIntent{Refused: true}
	if text != "" {
		refused.Reply = l.Notice(entry.Event, text)
		refused.Reply.Taint = entry.Taint // it may name the files
	}
	entry.Intent, entry.aside = refused, ""
	return entry
}
