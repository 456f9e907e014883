package llm

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// maxStream is the longest streamed answer that is read, in bytes. It is more
	// than of an answer that comes as one, because each word brings a frame along.
	maxStream = 64 << 20
	// bytesPerToken is more than an answer's text and thoughts take on average. What
	// is longer comes from a server that keeps to no limit, and is cut off as the limit
	// max_output_tokens would have done.
	bytesPerToken = 32
	// maxEvent is the longest event that is read, in bytes.
	maxEvent = maxBody
	// afterDone is how long the connection of an answer that said it was done is
	// waited for, so that it can be used again.
	afterDone = 200 * time.Millisecond
)

// A follower is told of an answer while it comes.
type follower struct {
	show       func(text string) bool // as Request.Stream
	shown      bool                   // somebody saw a part of it
	structured bool
	tokens     int           // that the answer may have
	quiet      *time.Timer   // ends the call when nothing new comes
	stall      time.Duration // after this time
}

// news puts off the end of the call.
func (f *follower) news() { f.quiet.Reset(f.stall) }

// follow reads the body of a 2xx answer that was asked for as a stream, whether it
// is one or not. Of a stream w.body keeps the first 8 MB.
func (w *wire) follow(from io.Reader) error {
	var head []byte // what came while it is not known what it is
	piece := make([]byte, 8<<10)
	known := false
	for size := 0; ; {
		n, err := from.Read(piece)
		size += n
		w.body = append(w.body, piece[:min(n, maxBody-len(w.body))]...)
		fresh := piece[:n]
		if !known {
			head = append(head, fresh...)
			if known = err != nil || recognizable(head); known && isStream(head) {
				w.events, fresh = &events{answer: answer{nothing: true}}, head
			}
		}
		switch {
		case len(fresh) == 0:
		case w.events != nil:
			w.receive(fresh)
		default:
			w.follower.news()
		}
		switch {
		case w.events == nil && size > maxBody:
			return errTooLong(maxBody)
		case w.pastLimit(size):
			w.events.answer.finish = finishLength
			return nil
		case err == nil:
		case w.events != nil && (err == io.EOF || w.events.done): // whole, however its connection ends
			return w.events.end()
		case err == io.EOF:
			return nil
		default:
			return err
		}
	}
}

// receive takes the next bytes of a stream and shows what is new in them.
func (w *wire) receive(fresh []byte) {
	if w.events.done {
		return
	}
	before, said := w.events.count, w.events.text.Len()
	w.events.take(fresh)
	switch {
	case w.events.done:
		w.follower.quiet.Reset(afterDone)
	case w.events.count > before: // comments that keep a connection alive are no news
		w.follower.news()
	}
	if w.events.text.Len() > said {
		w.follower.shown = w.follower.show(growing(w.events.text.String(), w.follower.structured)) || w.follower.shown
	}
}

// pastLimit says that a stream of which size bytes came is longer than it may be.
func (w *wire) pastLimit(size int) bool {
	e := w.events
	return e != nil && !e.done && (e.text.Len()+e.thoughts > w.follower.tokens*bytesPerToken || size > maxStream)
}

// recognizable says that head is enough to know a stream by.
func recognizable(head []byte) bool { return len(trimmed(head)) >= len("event:") }

// isStream says that an answer begins like server-sent events. Its content type is
// not asked: servers say all kinds of things.
func isStream(head []byte) bool {
	head = trimmed(head)
	return slices.ContainsFunc([]string{":", "data:", "event:", "id:", "retry:"}, func(field string) bool {
		return bytes.HasPrefix(head, []byte(field))
	})
}

func trimmed(head []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\uFEFF")), " \r\n\t")
}

// Events are an answer as server-sent events, as far as it came.
type events struct {
	rest  []byte // a line whose end has not come
	data  []byte // an event whose end has not come
	count int    // of events
	done  bool   // the server said that this is all

	answer   answer // but for its text
	text     strings.Builder
	thoughts int // bytes
	garbled  error
}

// take reads all lines that are complete.
func (e *events) take(fresh []byte) {
	for !e.done {
		at := bytes.IndexByte(fresh, '\n')
		if at < 0 {
			if len(e.rest)+len(fresh) > maxEvent {
				e.garbled, e.done = errTooLong(maxEvent), true
				return
			}
			e.rest = append(e.rest, fresh...)
			return
		}
		line := fresh[:at]
		if len(e.rest) > 0 {
			line = append(e.rest, line...)
		}
		e.line(bytes.TrimSuffix(line, []byte("\r")))
		e.rest, fresh = e.rest[:0], fresh[at+1:]
	}
}

// end reads a last event without an end of its own, and says why what came is not
// the whole answer; nil: it is.
func (e *events) end() error {
	e.take([]byte("\n\n"))
	switch {
	case e.garbled != nil:
		return e.garbled
	case e.done || e.answer.finish != "":
		return nil
	}
	return io.ErrUnexpectedEOF
}

func (e *events) line(line []byte) {
	if len(line) == 0 {
		if len(e.data) > 0 {
			e.event(e.data, true)
			e.data = e.data[:0]
		}
		return
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	if string(name) != "data" {
		return
	}
	value = bytes.TrimPrefix(value, []byte(" "))
	if len(e.data) == 0 && e.event(value, false) { // nearly every event is one line
		return
	}
	e.data = append(append(e.data, value...), '\n')
}

// event reads an event; false: it is not one, or, unless all, not all of one.
func (e *events) event(data []byte, all bool) bool {
	switch string(bytes.TrimSpace(data)) {
	case "":
		return true
	case "[DONE]":
		e.count++
		e.done = true
		return true
	}
	var c completion
	if err := json.Unmarshal(data, &c); err != nil {
		if all && e.garbled == nil {
			e.garbled = err
		}
		return false
	}
	e.count++
	if fault := c.fault(); fault != nil {
		e.answer.fault, e.done = fault, true
		return true
	}
	if usage := c.usage(); usage != nil {
		e.answer.usage = usage
	}
	for _, choice := range c.Choices[:min(1, len(c.Choices))] {
		e.answer.nothing = false
		text, thoughts := choice.Delta.split()
		e.text.WriteString(text)
		e.thoughts += thoughts
		e.answer.refusal += choice.Delta.Refusal
		if choice.FinishReason != "" {
			e.answer.finish = choice.FinishReason
		}
	}
	return true
}

func (e *events) whole() answer {
	a := e.answer
	a.text = e.text.String()
	return a
}

// growing is what may be shown of an answer that has not ended: what withoutThoughts
// leaves of it, without what may be the beginning of a tag or of a thought.
func growing(text string, structured bool) string {
	text = strings.TrimLeft(text, " \t\r\n")
	if !strings.Contains(text, "<") || structured && beginsJSON(text) {
		return text
	}
	for _, tag := range []string{thinkOpen, thinkClose} {
		for n := len(tag) - 1; n > 0; n-- {
			if strings.HasSuffix(text, tag[:n]) {
				text = text[:len(text)-n]
				break
			}
		}
	}
	if open := strings.LastIndex(text, thinkOpen); !structured && open > strings.LastIndex(text, thinkClose) {
		text = text[:open]
	}
	return withoutThoughts(text, structured)
}

// refusesStreams says that an answer refuses to be a stream, or to tell what a
// streamed one used; said is its complaint.
func refusesStreams(status int, said string) bool {
	switch status {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return strings.Contains(strings.ToLower(said), "stream")
	}
	return false
}
