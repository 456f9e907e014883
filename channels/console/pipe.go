package console

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"switchboard/channels"
)

// answerWait is how long a message that makes no turn may go without its answer,
// which is committed together with it.
const answerWait = 10 * time.Second

// pipe talks when the input is no terminal.
type pipe struct {
	client   *client
	o        Options
	progress *progress

	waiting *receipt // the message being answered; nil: none
	held    *spoken  // the newest message of the turn, if it is a notice
	timeout <-chan time.Time
	failed  int
	total   int
}

// spoken is a message with its event, as --json writes it.
type spoken struct {
	channels.SessionMessage
	Event  int64     `json:"event"`
	TurnID int64     `json:"turn_id,string,omitempty"`
	At     time.Time `json:"at"`
}

func newPipe(c *client, o Options) *pipe {
	return &pipe{client: c, o: o, progress: newProgress()}
}

// run sends line by line and returns when all are answered and Linger is over.
func (p *pipe) run(ctx context.Context, events <-chan channels.SessionEvent, lost <-chan error) error {
	input, readErr := p.read(ctx)
	var lingering <-chan time.Time
	ended := false
	for {
		next := input
		if p.waiting != nil || ended {
			next = nil
		}
		if ended && p.waiting == nil && lingering == nil {
			if p.o.Linger <= 0 {
				return errors.Join(<-readErr, p.verdict())
			}
			lingering = time.After(p.o.Linger)
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
		case <-p.timeout:
			p.fail("no answer came")
		case <-lingering:
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
			select {
			case <-ctx.Done():
				failed <- ctx.Err()
				return
			case lines <- l:
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
	if _, refused := errors.AsType[*refusedError](err); refused {
		p.fail("it was not sent: " + err.Error())
		return nil
	}
	switch {
	case err != nil:
		return err
	case got.Rejected != "":
		p.fail("it was refused: " + got.Rejected)
	case got.Event == 0:
		p.fail(fmt.Sprintf("nobody will answer it: %q is not among the people who are let in", p.client.person))
	default:
		p.waiting = &got
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
	mine := p.waiting != nil && e.N > p.waiting.Event && e.TurnID == p.waiting.TurnID
	if e.Message != nil {
		if e.Message.Direction != "out" {
			return nil
		}
		return p.message(e, mine)
	}
	if mine && e.Kind != "turn" {
		p.drop() // the turn goes on
	}
	for _, l := range p.progress.lines(e) {
		p.note(l)
	}
	if e.Kind != "turn" || !over(readData(e).State) {
		return nil
	}
	if mine {
		return p.done()
	}
	if p.waiting != nil && p.waiting.TurnID == 0 && e.N > p.waiting.Event {
		return p.done() // a command to cancel is answered by the end of the turn
	}
	return nil
}

// message writes answers to stdout. A notice within a turn is progress, unless it
// turns out to be the turn's last word.
func (p *pipe) message(e channels.SessionEvent, mine bool) error {
	said := &spoken{SessionMessage: *e.Message, Event: e.N, TurnID: e.TurnID, At: e.At}
	p.drop()
	switch {
	case mine && e.TurnID == 0:
		if err := p.write(said); err != nil {
			return err
		}
		return p.done()
	case mine && said.Notice:
		p.held = said
		return nil
	case said.Notice && e.TurnID != 0:
		p.note(show(said.Text))
		return nil
	}
	return p.write(said)
}

// drop turns a held notice into progress: it was not the last word.
func (p *pipe) drop() {
	if p.held != nil {
		p.note(show(p.held.Text))
		p.held = nil
	}
}

// done ends the wait; a held notice is the answer.
func (p *pipe) done() error {
	held := p.held
	p.waiting, p.held, p.timeout = nil, nil, nil
	if held == nil {
		return nil
	}
	return p.write(held)
}

func (p *pipe) write(said *spoken) error {
	if !p.o.JSON {
		_, err := fmt.Fprintln(p.o.Out, show(said.Text))
		return wrote(err)
	}
	encoder := json.NewEncoder(p.o.Out)
	encoder.SetEscapeHTML(false)
	return wrote(encoder.Encode(said))
}

func wrote(err error) error {
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// note writes progress. Nobody may be reading it, and that is no fault.
func (p *pipe) note(text string) { _, _ = fmt.Fprintln(p.o.Err, text) }
