package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"
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
