package channels_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
)

// What a client makes of the deltas is what was to be shown.
func FuzzDeltas(f *testing.F) {
	f.Add("one", "one two", int64(1), int64(1))
	f.Add("é", "è", int64(1), int64(1))
	f.Add("日本", "日", int64(1), int64(2))
	f.Add("x", "", int64(1), int64(0))
	f.Fuzz(func(t *testing.T, before, after string, one, two int64) {
		if !utf8.ValidString(before) || !utf8.ValidString(after) {
			t.Skip("the router gives valid text")
		}
		known, now := channels.Growing{Turn: one, Text: before}, channels.Growing{Turn: two, Text: after}
		event, some := now.Since(known)
		if some == (known == now) {
			t.Errorf("%+v to %+v: some is %v", known, now, some)
		}
		if !some {
			return
		}
		var stream bytes.Buffer
		if _, err := event.WriteTo(&stream); err != nil {
			t.Fatal(err)
		}
		raw := stream.String()
		if err := channels.ReadEvents(&stream, func(read channels.SessionEvent) bool { known.Add(read); return true }); err != nil || known.Text != after {
			t.Errorf("shows %q, want %q, after %s, error %v", known.Text, after, raw, err)
		}
	})
}

// What is written on a stream is read again, whatever stands in it.
func TestEventsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 1, 2, 3, 0, time.UTC)
	events := []channels.SessionEvent{
		{N: 1, Kind: "message", TurnID: 7, At: at, Message: &channels.SessionMessage{ID: 3, Direction: "in", Text: "a\nb\r\n: data: \u2028", Author: "ada"}},
		{N: 2, Kind: "turn", TurnID: 7, At: at, Data: json.RawMessage(`{"state":"done"}`)},
		{N: 3, Kind: "session", At: at, Data: json.RawMessage(`{}`)},
		{N: 4, Kind: "message", At: at, Message: &channels.SessionMessage{ID: 4, Direction: "out", Text: strings.Repeat("x", 100_000), Final: true, Notice: true}},
	}
	var stream bytes.Buffer
	for _, e := range events {
		if _, err := e.WriteTo(&stream); err != nil {
			t.Fatal(err)
		}
		stream.WriteString(": ping\n\n")
	}
	var read []channels.SessionEvent
	if err := channels.ReadEvents(&stream, func(e channels.SessionEvent) bool { read = append(read, e); return true }); err != nil {
		t.Fatal(err)
	}
	for i := range read {
		if i < len(events) && read[i].Message == nil {
			events[i].Data, _ = events[i].View()
		}
	}
	if diff := cmp.Diff(events, read); diff != "" {
		t.Error(diff)
	}
	if !read[1].Ends() || read[2].Ends() || !read[3].Says() || read[0].Says() {
		t.Error("what ends and what is said is not told")
	}
}
