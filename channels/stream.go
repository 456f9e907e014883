package channels

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A SessionEvent is one thing that happened in a session, as clients see it that
// read for themselves (see Reader). N grows by one within a session.
type SessionEvent struct {
	N      int64           `json:"event"`
	Kind   string          `json:"kind"` // message | turn | plan | task | review | delivery | session
	TurnID int64           `json:"turn_id,omitempty,string"`
	Data   json.RawMessage `json:"data,omitempty"` // terse, at most 2 KB
	At     time.Time       `json:"at"`
	// Message is set on kind message.
	Message *SessionMessage `json:"message,omitempty"`
}

// A SessionMessage is one text in or out of a session.
type SessionMessage struct {
	ID        int64  `json:"id,string"`
	Direction string `json:"direction"` // in | out
	Text      string `json:"text"`
	Author    string `json:"author"`
	Final     bool   `json:"final"`  // the last message of its turn, and the turn's goal was reached
	Notice    bool   `json:"notice"` // a fixed notice of the program, not an answer
	// Attachments came with it, or are linked in what it says.
	Attachments []SessionFile   `json:"attachments,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"` // as the program sent it
}

// A SessionFile is a file of a message, by the number under which its bytes can be had.
type SessionFile struct {
	ID    int64  `json:"id,string"`
	Name  string `json:"name"`
	Type  string `json:"type"`  // media type; found by content where the bytes are here
	Size  int64  `json:"size"`  // bytes; 0: not known
	State string `json:"state"` // referenced (at its platform) | clean | quarantined | gone
}

// Says tells whether the event is a message of ours.
func (e *SessionEvent) Says() bool { return e.Message != nil && e.Message.Direction == "out" }

// Ends tells whether the event is the end of a turn.
func (e *SessionEvent) Ends() bool {
	var d struct {
		State string `json:"state"`
	}
	return e.Kind == "turn" && json.Unmarshal(e.Data, &d) == nil && slices.Contains(endStates, d.State)
}

// endStates are those in which a turn is over.
var endStates = []string{"done", "failed", "cancelled", "merged"}

// How the events of a session stand in a stream of server-sent events. The format is the one of
// https://html.spec.whatwg.org/multipage/server-sent-events.html: the event's name is its Kind, its ID its number, and its data
// one line of JSON with the number ("event"), "turn_id" and "at" beside what the kind says.

// The kinds of events that have no number.
const (
	KindDelta = "delta" // a piece of a text that grows: a Delta
	KindReset = "reset" // events were missed that are kept no more
)

// A streamedMessage is the data of an event of kind message.
type streamedMessage struct {
	Kind      string    `json:"kind"` // message
	ID        int64     `json:"id,string"`
	Event     int64     `json:"event"`
	Direction string    `json:"direction"`
	Text      string    `json:"text"`
	Author    string    `json:"author"`
	TurnID    int64     `json:"turn_id,omitempty,string"`
	Final     bool      `json:"final"`
	Notice    bool      `json:"notice"`
	At        time.Time `json:"at"`

	Attachments []SessionFile   `json:"attachments,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
}

// A streamedEvent is what the data of every other event has.
type streamedEvent struct {
	Kind   string    `json:"kind"`
	Event  int64     `json:"event,omitempty"`
	TurnID int64     `json:"turn_id,omitempty,string"`
	At     time.Time `json:"at"`
}

// View is the event's data as clients read it.
func (e *SessionEvent) View() (json.RawMessage, error) {
	if m := e.Message; m != nil {
		return json.Marshal(streamedMessage{e.Kind, m.ID, e.N, m.Direction, m.Text, m.Author, e.TurnID, m.Final, m.Notice, e.At, m.Attachments, m.Metadata})
	}
	data, err := json.Marshal(streamedEvent{e.Kind, e.N, e.TurnID, e.At})
	if own, ok := bytes.CutPrefix(bytes.TrimSpace(e.Data), []byte("{")); ok && err == nil && len(own) > 1 {
		data = append(append(data[:len(data)-1], ','), own...)
	}
	return data, err
}

// WriteTo writes the event to a stream.
func (e *SessionEvent) WriteTo(w io.Writer) (int64, error) {
	data, err := e.View()
	if err != nil {
		return 0, fmt.Errorf("write an event: %w", err)
	}
	text := make([]byte, 0, len(data)+64)
	if e.N > 0 {
		text = append(strconv.AppendInt(append(text, "id: "...), e.N, 10), '\n')
	}
	text = append(append(append(text, "event: "...), e.Kind...), "\ndata: "...)
	n, err := w.Write(append(append(text, data...), "\n\n"...))
	return int64(n), err
}

// maxStreamed bounds one line of a stream that is read, in bytes.
const maxStreamed = 16 << 20

// ReadEvents hands each event of a stream to take until that says no or the stream ends, which is no error.
func ReadEvents(stream io.Reader, take func(SessionEvent) bool) error {
	lines := bufio.NewReader(stream)
	var kind string
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			kind = value
		case "data":
			e, err := readEvent(kind, []byte(value))
			if err != nil || !take(e) {
				return err
			}
		}
	}
}

func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, more, err := r.ReadLine()
		if err != nil {
			return "", err
		}
		if line = append(line, part...); !more {
			return string(line), nil
		}
		if len(line) > maxStreamed {
			return "", errors.New("an event is too long")
		}
	}
}

func readEvent(kind string, data []byte) (SessionEvent, error) {
	var e SessionEvent
	if kind == "message" {
		var m streamedMessage
		if err := json.Unmarshal(data, &m); err != nil {
			return e, fmt.Errorf("read an event: %w", err)
		}
		return SessionEvent{N: m.Event, Kind: kind, TurnID: m.TurnID, At: m.At, Message: &SessionMessage{
			ID: m.ID, Direction: m.Direction, Text: m.Text, Author: m.Author, Final: m.Final, Notice: m.Notice,
			Attachments: m.Attachments, Metadata: m.Metadata,
		}}, nil
	}
	var s streamedEvent
	if err := json.Unmarshal(data, &s); err != nil {
		return e, fmt.Errorf("read an event: %w", err)
	}
	return SessionEvent{N: s.Event, Kind: kind, TurnID: s.TurnID, At: s.At, Data: data}, nil
}

// A Delta is the data of an event of kind delta: the text of the turn's next message is what stood before byte From of what the
// client knows, and Text behind it. No text at all: there is none to be seen any more.
type Delta struct {
	From int    `json:"from"`
	Text string `json:"text"`
}

// Growing is the text that a turn's next message has so far; the zero value is none.
type Growing struct {
	Turn int64
	Text string
}

// Add takes a delta that a client was sent.
func (g *Growing) Add(e SessionEvent) {
	var d Delta
	if json.Unmarshal(e.Data, &d) != nil || d.From > 0 && (e.TurnID != g.Turn || d.From > len(g.Text)) {
		return // of a text that is not known; the next one that begins is whole
	}
	*g = Growing{e.TurnID, g.Text[:d.From] + d.Text}
}

// Ended says that e is a message, or the end of a turn, in whose place there may have been a text; that text is forgotten.
func (g *Growing) Ended(e SessionEvent) bool {
	if e.TurnID == 0 || !e.Says() && !e.Ends() {
		return false
	}
	if g.Turn == e.TurnID {
		*g = Growing{}
	}
	return true
}

// Cut is the text that e ends without saying it: a notice comes instead, or nothing; empty: there is none.
func (g *Growing) Cut(e SessionEvent) string {
	if e.TurnID == g.Turn && (e.Says() && e.Message.Notice || e.Ends()) {
		return g.Text
	}
	return ""
}

// Since is what turns known into g; none: they are the same.
func (g Growing) Since(known Growing) (event SessionEvent, some bool) {
	if g == known {
		return event, false
	}
	d := Delta{Text: g.Text}
	if g.Turn == known.Turn {
		for d.From < min(len(g.Text), len(known.Text)) && g.Text[d.From] == known.Text[d.From] {
			d.From++
		}
		for d.From > 0 && d.From < len(g.Text) && !utf8.RuneStart(g.Text[d.From]) {
			d.From--
		}
		d.Text = g.Text[d.From:]
	}
	data, err := json.Marshal(d)
	return SessionEvent{Kind: KindDelta, TurnID: cmp.Or(g.Turn, known.Turn), Data: data, At: time.Now().UTC()}, err == nil
}
