package discord

import (
	"encoding/json"
	"fmt"
	"strconv"

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

// odd is a frame that cannot be read.
func (h *reader) odd(why error) []channels.Event {
	raw := h.raw
	if raw == nil {
		if raw = h.frame.Data; raw == nil {
			raw = []byte("null")
		}
	}
	number := ""
	if h.frame.Seq != 0 {
		number = h.session.id + ":" + strconv.FormatInt(h.frame.Seq, 10)
	}
	return []channels.Event{*wire.Undecodable(h.c.Name(), h.bot.String(), "event", number, raw, why)}
}

// numbered is a key for what has no number of its own: the session and the event's number in it.
func (h *reader) numbered(kind string, parts ...string) channels.EventKey {
	return wire.Key(h.bot.String(), kind, append(parts, h.session.id, strconv.FormatInt(h.frame.Seq, 10))...)
}

// parse reads the data of a frame.
func parse[T any](h *reader) (v T, err error) {
	if err = json.Unmarshal(h.frame.Data, &v); err != nil {
		err = fmt.Errorf("it is no %s as documented: %w", h.frame.Type, err)
	}
	return v, err
}
