package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// told is one frame as it came.
type told struct {
	frame frame
	raw   []byte // of one that cannot be read
	err   error  // why not
	press press  // of an interaction: what waits for its commit
}

// read reads frames until the connection ends. It never waits for what is done with them.
func (l *connection) read(ctx context.Context) error {
	deadline := l.c.pace.hello
	for {
		_ = l.ws.SetReadDeadline(time.Now().Add(deadline))
		_, raw, err := l.ws.ReadMessage()
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("read from the gateway: %w", err)
		}
		deadline = l.c.pace.heartbeat + 2*l.c.pace.ack // later than what watches heartbeats
		l.sink.Received()
		t := readFrame(raw)
		if err := l.classify(ctx, t); err != nil {
			return err
		}
	}
}

// classify does what a frame asks for, or queues it.
func (l *connection) classify(ctx context.Context, t told) error {
	switch {
	case t.err != nil, t.frame.Op == opcodeDispatch, t.frame.Op == opcodeHello:
	case t.frame.Op == opcodeAck:
		l.asked.Store(0)
		return nil
	case t.frame.Op == opcodeHeartbeat:
		return l.pulse()
	case t.frame.Op == opcodeReconnect:
		return fmt.Errorf("the platform asks to %w", errRetry)
	case t.frame.Op == opcodeInvalid:
		if string(t.frame.Data) != "true" {
			l.c.invalid(l.session)
		}
		return fmt.Errorf("the session is not valid: %w", errRetry)
	default:
		return nil // of an operation that is not for us
	}
	l.begun.CompareAndSwap(false, t.frame.Type != "")
	if t.frame.Type == "INTERACTION_CREATE" {
		t.press = l.begin(ctx, t.frame.Data)
	}
	select {
	case l.queue <- t:
		return nil
	default:
		return errBehind
	}
}

var seqPattern = regexp.MustCompile(`"s"\s*:\s*([0-9]{1,18})\b`)

// readFrame reads a frame; of one that is no JSON at least the number.
func readFrame(raw []byte) told {
	var t told
	if t.err = json.Unmarshal(raw, &t.frame); t.err == nil {
		return t
	}
	t.raw, t.frame = bytes.Clone(raw), frame{}
	if found := seqPattern.FindSubmatch(raw); found != nil {
		_ = json.Unmarshal(found[1], &t.frame.Seq)
	}
	return t
}

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
