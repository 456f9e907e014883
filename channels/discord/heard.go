package discord

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// A reader makes events of one frame.
type reader struct {
	*connection
	told
	bot snowflake
}

// An again error is not the event's fault: it is told again.
type again struct{ error }

func (e *again) Unwrap() error { return e.error }

// oddKinds are the kinds of events that are not known here.
type oddKinds struct {
	mu   sync.Mutex
	told map[string]bool
}

// first says whether a kind is told for the first time: one is kept.
func (o *oddKinds) first(kind string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told == nil {
		o.told = map[string]bool{}
	}
	first := !o.told[kind] && len(o.told) < 100
	o.told[kind] = true
	return first
}

// odd is a frame that cannot be read.
func (h *reader) odd(why error) []channels.Event {
	raw := h.raw
	if raw == nil {
		if raw = h.frame.Data; raw == nil {
			raw = []byte("null")
		}
	}
	number := ""
	if h.frame.Seq != nil {
		number = h.session.id + ":" + strconv.FormatInt(*h.frame.Seq, 10)
	}
	return []channels.Event{*wire.Undecodable(h.c.Name(), h.bot.String(), "event", number, raw, why)}
}

// numbered is a key for what has no number of its own: the session and the event's number in it.
func (h *reader) numbered(kind string, parts ...string) channels.EventKey {
	n := int64(0)
	if h.frame.Seq != nil {
		n = *h.frame.Seq
	}
	return wire.Key(h.bot.String(), kind, append(parts, h.session.id, strconv.FormatInt(n, 10))...)
}

// parse reads the data of a frame.
func parse[T any](h *reader) (v T, err error) {
	if err = json.Unmarshal(h.frame.Data, &v); err != nil {
		err = fmt.Errorf("it is no %s as documented: %w", h.frame.Type, err)
	}
	return v, err
}
