package console

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"switchboard/channels"
	"switchboard/internal/api"
)

// answerWait is how long a message that makes no turn may go without its answer,
// which is committed together with it.
const answerWait = 10 * time.Second

// pipe talks when the input is no terminal.
type pipe struct {
	client   *client
	o        Options
	progress *progress
	seen     *seen
	whole    bool // everything up to now was shown, here or before

	waiting   *api.Receipt // the message being answered; nil: none
	sent      string       // its text
	held      *messageLine // the turn's newest message, while it matters whether it is the last
	timeout   <-chan time.Time
	lingering <-chan time.Time // set while later messages are listened for
	later     []*messageLine   // what came before that and answers nothing, as a reminder does
	failed    int
	total     int
	decided   int64 // the event of what was typed for the person about an approval; 0: nothing was
}

// messageLine is a message with its event, as --json writes it.
type messageLine struct {
	channels.SessionMessage
	Event  int64     `json:"event"`
	TurnID *string   `json:"turn_id"` // null: it belongs to no turn, as a command's answer
	At     time.Time `json:"at"`
	// Of the turn that this message ended; else they are left out.
	State   string `json:"state,omitempty"`
	Outcome string `json:"outcome,omitempty"`
}

// keep keeps a message for those who listen for later ones: they are to have it too where it came before
// the last answer, or before this process listened.
func (p *pipe) keep(e channels.SessionEvent) bool {
	if p.o.Linger <= 0 || e.Message == nil || e.Message.Direction != "out" {
		return false
	}
	p.later = append(p.later, newSpoken(e))
	return true
}

// writeLater writes what was kept, up to what cannot be written.
func (p *pipe) writeLater() error {
	for ; len(p.later) > 0; p.later = p.later[1:] {
		if err := p.write(p.later[0]); err != nil {
			return err
		}
	}
	return nil
}

// run sends line by line and returns when all are answered and Linger is over.
func (p *pipe) run(ctx context.Context, events <-chan channels.SessionEvent, lost <-chan error) error {
	defer func() {
		if p.writeLater() != nil {
			return // it counts as shown, and is not: it comes the next time
		}
		if err := p.seen.save(); err != nil {
			p.note(err.Error())
		}
	}()
	input, readErr := p.read(ctx)
	ended := false
	for {
		next := input
		if p.waiting != nil || ended {
			next = nil
		}
		if ended && p.waiting == nil && p.lingering == nil {
			if p.o.Linger <= 0 {
				return errors.Join(<-readErr, p.verdict())
			}
			p.lingering = time.After(p.o.Linger)
			if err := p.writeLater(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-lost:
			return err
		case l, ok := <-next:
			if !ok {
				ended = true
				continue
			}
			if err := p.send(ctx, l); err != nil {
				return err
			}
		case e := <-events:
			if err := p.event(e); err != nil {
				return err
			}
			if err := p.decide(ctx, e); err != nil {
				return err
			}
		case <-p.timeout:
			if p.client.connection.down() { // the answer may be there, and cannot come
				p.timeout = time.After(answerWait)
				continue
			}
			p.fail("no answer came")
		case <-p.lingering:
			return errors.Join(<-readErr, p.verdict())
		}
	}
}

// read hands the input's lines over, blank ones left out. The error comes after
// the last line.
func (p *pipe) read(ctx context.Context) (<-chan line, <-chan error) {
	lines, failed := make(chan line), make(chan error, 1)
	go func() {
		defer close(lines)
		in := bufio.NewReaderSize(p.o.In, 64<<10)
		for {
			l, err := readLine(in)
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = nil
				}
				failed <- err
				return
			}
			if l.refused == nil && strings.TrimSpace(l.text) == "" {
				continue
			}
			if !give(ctx, lines, l) {
				failed <- ctx.Err()
				return
			}
		}
	}()
	return lines, failed
}

func (p *pipe) send(ctx context.Context, l line) error {
	p.total++
	p.held, p.timeout = nil, nil
	if l.refused != nil {
		p.fail("it was not sent: " + l.refused.Error())
		return nil
	}
	got, err := p.client.post(ctx, l.text)
	if refused(err) {
		p.fail("it was not sent: " + err.Error())
		return nil
	}
	switch {
	case err != nil:
		return err
	case got.Rejected != "":
		p.fail("it was refused: " + got.Rejected)
	case got.Event == 0 && !got.Duplicate:
		p.fail(fmt.Sprintf("nobody will answer it: %q is not among the people who may write", p.client.person))
	default:
		p.waiting, p.sent = &got, l.text
		if got.TurnID == 0 {
			p.timeout = time.After(answerWait)
		}
	}
	return nil
}

// fail ends the current line without an answer.
func (p *pipe) fail(why string) {
	p.failed++
	p.waiting, p.timeout = nil, nil
	p.note(fmt.Sprintf("message %d: %s", p.total, why))
}

func (p *pipe) verdict() error {
	if p.failed > 0 {
		return fmt.Errorf("%w: %d of %d messages", ErrUnanswered, p.failed, p.total)
	}
	return nil
}

// event shows what happened and ends the wait when it was the answer.
func (p *pipe) event(e channels.SessionEvent) error {
	p.recognize(e)
	shown, err := p.show(e)
	if err != nil {
		return err
	}
	p.whole = p.whole && shown
	if p.whole && p.held == nil {
		p.seen.advance(e.N)
	}
	return nil
}

// recognize finds the message being answered by its text when an engine went away
// before it answered: another try's receipt only says that the message is known.
func (p *pipe) recognize(e channels.SessionEvent) {
	w := p.waiting
	if w == nil || w.Event != 0 || e.Message == nil || e.Message.Direction != "in" || e.Message.Text != p.sent {
		return
	}
	if w.Event, w.TurnID = e.N, e.TurnID; w.TurnID != 0 {
		p.timeout = nil
	}
}

// mine says whether an event belongs to the message being answered. What a command
// is answered by is committed right behind it.
func (p *pipe) mine(e channels.SessionEvent) bool {
	w := p.waiting
	if w == nil || w.Event == 0 || e.N <= w.Event || e.TurnID != w.TurnID {
		return false
	}
	return w.TurnID != 0 || e.N == w.Event+1
}

// show says whether there is nothing in the event that has still to be shown, to
// somebody else or later.
func (p *pipe) show(e channels.SessionEvent) (shown bool, err error) {
	mine := p.mine(e)
	switch {
	case e.Message != nil && e.Message.Direction != "out":
		return true, nil
	case e.Message != nil && p.decided != 0 && e.N == p.decided+1:
		return true, nil // the answer to what was typed here
	case e.Message != nil && mine:
		return true, p.message(e)
	case e.Message != nil && p.lingering != nil:
		return true, p.write(newSpoken(e))
	case e.Message != nil:
		return p.keep(e), nil
	case mine:
		return true, p.step(e)
	}
	if w := p.waiting; e.Ends() && w != nil && w.TurnID == 0 && w.Event != 0 && e.N > w.Event {
		// A command to cancel is answered by the end of the turn, which is not ours.
		p.note(cmp.Or(strings.Join((&course{}).last(readData(e)), ""), "It ended before it could be cancelled."))
		return true, p.done(eventData{})
	}
	return true, nil
}

// decide answers what the turn that is waited for asks a person. Where others are asked there
// is nothing to decide, so the turn is given up.
func (p *pipe) decide(ctx context.Context, e channels.SessionEvent) error {
	text := decision(e, p.o.Yolo)
	if p.o.Token && text != "" {
		text = "/cancel"
	}
	if w := p.waiting; text == "" || w == nil || w.TurnID != e.TurnID {
		return nil
	}
	got, err := p.client.post(ctx, text)
	p.decided = got.Event
	return err
}

// decision is what is typed for a person about an approval that an event proposes; empty:
// nothing.
func decision(e channels.SessionEvent, yolo bool) string {
	if e.Kind != "approval" || e.TurnID == 0 {
		return ""
	}
	switch d := readData(e); {
	case d.State != "proposed":
		return ""
	case yolo && d.Code != "":
		return "/approve " + d.Code
	case yolo:
		return ""
	case d.Code != "":
		return "/deny " + d.Code + " nobody is there to be asked, in a pipe without --yolo"
	}
	return "/cancel"
}

// step shows what a turn does, and ends the wait with it.
func (p *pipe) step(e channels.SessionEvent) error {
	if e.Kind != "turn" {
		if err := p.flush(); err != nil {
			return err
		}
	}
	for _, l := range p.progress.lines(e) {
		p.note(l)
	}
	if e.Ends() {
		return p.done(readData(e))
	}
	return nil
}

// message writes answers to stdout. A notice within a turn is progress, unless it
// turns out to be the turn's last word.
func (p *pipe) message(e channels.SessionEvent) error {
	if err := p.flush(); err != nil {
		return err
	}
	p.progress.lines(e) // it learns that the turn spoke
	p.held = newSpoken(e)
	switch {
	case e.TurnID == 0:
		return p.done(eventData{})
	case p.held.Notice || p.o.JSON:
		return nil
	}
	return p.flush()
}

// flush lets go of a held message: it was not the last word.
func (p *pipe) flush() error {
	held := p.held
	p.held = nil
	switch {
	case held == nil:
		return nil
	case held.Notice:
		p.note(show(held.Text))
		return nil
	}
	return p.write(held)
}

// done ends the wait; a held message was the turn's last word.
func (p *pipe) done(turn eventData) error {
	held := p.held
	p.waiting, p.held, p.timeout = nil, nil, nil
	if held == nil {
		return nil
	}
	held.State, held.Outcome = turn.State, turn.Outcome
	return p.write(held)
}

func newSpoken(e channels.SessionEvent) *messageLine {
	said := &messageLine{SessionMessage: *e.Message, Event: e.N, At: e.At}
	if e.TurnID != 0 {
		said.TurnID = new(strconv.FormatInt(e.TurnID, 10))
	}
	return said
}

func (p *pipe) write(said *messageLine) error {
	var err error
	if p.o.JSON {
		encoder := json.NewEncoder(p.o.Out)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(said)
	} else {
		_, err = fmt.Fprintln(p.o.Out, show(said.Text))
	}
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// note writes progress. Nobody may be reading it, and that is no fault.
func (p *pipe) note(text string) { _, _ = fmt.Fprintln(p.o.Err, text) }

// maxLine is the longest line that is sent, in bytes. The router's own limit for
// a message is lower and answers politely; this one keeps a wrong file out of
// memory.
const maxLine = 8 << 20

// A line is one message from a pipe, or the reason why it is none.
type line struct {
	text    string
	refused error
}

// readLine reads one line of any length. io.EOF comes alone, after the last line.
func readLine(in *bufio.Reader) (line, error) {
	var text []byte
	long := false
	for {
		chunk, err := in.ReadSlice('\n')
		if long = long || len(text)+len(chunk) > maxLine; long {
			text = nil // read on to the line's end, and forget it
		} else {
			text = append(text, chunk...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return line{}, fmt.Errorf("read the input: %w", err)
		case errors.Is(err, io.EOF) && len(text) == 0 && !long:
			return line{}, io.EOF
		}
		text = bytes.TrimRight(text, "\r\n")
		switch {
		case long:
			return line{refused: fmt.Errorf("it is longer than %d MB", maxLine>>20)}, nil
		case !utf8.Valid(text):
			return line{refused: errors.New("it is not valid UTF-8")}, nil
		}
		return line{text: string(text)}, nil
	}
}
