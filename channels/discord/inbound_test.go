package discord

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/channelstest"
)

var update = flag.Bool("update", false, "write the golden files again")

// knowing is a channel that knows who it is and some places.
func knowing(t *testing.T) (*Client, *connection) {
	t.Helper()
	c := client(t, "http://127.0.0.1:1", "MTIzNDU2Nzg5MDEyMzQ1Njc4.x.abcdefghijkl")
	c.self.Store(&self{id: 77, name: "helper"})
	up := snowflake(290926798999357250)
	c.remember(place{ID: up, Guild: 41771983423143937, Name: "general"})
	c.remember(place{ID: 41771983423143937, Guild: 41771983423143937, Name: "discord-developers"})
	c.remember(place{ID: 334385199974967099, Type: typeThread, Guild: 41771983423143937, Parent: &up, Name: "a thread", Owner: 77})
	own := role{ID: 88, Name: "Helper"}
	own.Tags.Bot = 77
	c.roles.Put(88, own)
	c.roles.Put(89, role{ID: 89, Name: "Gardeners"})
	sink := channelstest.NewSink()
	if _, err := sink.Accept(t.Context(), []channels.Event{{Key: "k", Kind: channels.EventMessage, Mark: spot{channel: 41771983423143937, message: 1}.mark()}}); err != nil {
		t.Fatal(err)
	}
	l := &connection{c: c, sink: sink, session: &session{id: "S", gaps: newGaps(nil), guilds: map[snowflake]bool{}}}
	return c, l
}

// Each kind of event and message, as the platform's pages show it, becomes what is beside it; those
// that are ignored by name, nothing.
func TestPayloadsBecomeTheEventsBesideThem(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/events/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no payloads: %v", err)
	}
	shown := map[string]bool{}
	for _, file := range files {
		if raw, err := os.ReadFile(file); err == nil {
			shown[readFrame(raw).frame.Type] = true
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, l := knowing(t)
			events, err := c.events(t.Context(), l, readFrame(raw))
			if err != nil {
				t.Fatal(err)
			}
			for i := range events {
				if e := &events[i]; e.Kind == channels.EventMember || e.Kind == channels.EventUndecodable {
					e.At, e.Raw = time.Time{}, nil
				}
			}
			golden(t, strings.TrimSuffix(file, ".json")+".golden", events)
		})
	}
	var ignored []struct {
		Type, Page, Shows string
		Data              json.RawMessage
	}
	data, err := os.ReadFile("testdata/ignored.json")
	if err = errors.Join(err, json.Unmarshal(data, &ignored)); err != nil {
		t.Fatal(err)
	}
	c, l := knowing(t)
	for _, row := range ignored {
		told := readFrame(fmt.Appendf(nil, `{"op":0,"s":42,"t":%q,"d":%s}`, row.Type, row.Data))
		if events, err := c.events(t.Context(), l, told); err != nil || len(events) > 0 || !strings.HasPrefix(row.Page, "https://") || row.Shows == "" {
			t.Errorf("%s (%s) is %v, %v", row.Type, row.Page, events, err)
		}
		shown[row.Type] = true
	}
	for name := range kinds {
		if !shown[name] {
			t.Errorf("events of the kind %s have no payload in testdata", name)
		}
	}
}

// golden compares v with a file, without what is empty.
func golden(t *testing.T, file string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(pruned(tree), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// pruned is a tree without what is empty.
func pruned(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			if tree[key] = pruned(value); tree[key] == nil {
				delete(tree, key)
			}
		}
		if len(tree) > 0 {
			return tree
		}
	case []any:
		for i := range tree {
			tree[i] = pruned(tree[i])
		}
		if len(tree) > 0 {
			return tree
		}
	case string:
		if tree != "" && !strings.HasPrefix(tree, "0001-01-01") {
			return tree
		}
	case float64:
		if tree != 0 {
			return tree
		}
	case bool:
		if tree {
			return tree
		}
	}
	return nil
}

// Every type of message that the platform's page lists has a payload and is sorted, with words
// in it, too; what is not listed is kept.
func TestMessageTypesAreSortedOrKept(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/messages.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name, Page string
		Message    map[string]any
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	c, l := knowing(t)
	read := func(m map[string]any) []channels.Event {
		events, err := c.events(t.Context(), l, readFrame(mustJSON(t, map[string]any{"op": 0, "t": "MESSAGE_CREATE", "s": 5, "d": m})))
		if err != nil {
			t.Fatal(err)
		}
		return events
	}
	shown := map[int]bool{}
	for _, d := range all {
		n := int(d.Message["type"].(float64))
		shown[n] = true
		before := read(d.Message)
		d.Message["content"] = "Supa Hot"
		if after := read(d.Message); len(before) == 1 != messageTypes[n] || len(after) == 1 != messageTypes[n] || !strings.HasPrefix(d.Page, "https://") {
			t.Errorf("%s (%s) is %+v; with words %+v", d.Name, d.Page, before, after)
		}
	}
	for n := range messageTypes {
		if !shown[n] {
			t.Errorf("messages of type %d have no payload in testdata", n)
		}
	}
	all[0].Message["type"] = 99
	if events := read(all[0].Message); len(events) != 1 || events[0].Kind != channels.EventUndecodable {
		t.Errorf("an unknown type is %+v", events)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The same kind of event that nobody knows is kept once.
func TestUnknownEventsAreKeptOnce(t *testing.T) {
	t.Parallel()
	c, l := knowing(t)
	for i, want := range []int{1, 0, 0} {
		events, err := c.events(t.Context(), l, readFrame([]byte(`{"op":0,"t":"SOMETHING_NEW","s":1,"d":{}}`)))
		if err != nil || len(events) != want {
			t.Errorf("%d. %+v, %v", i, events, err)
		}
	}
}

func FuzzEvents(f *testing.F) {
	files, _ := filepath.Glob("testdata/events/*.json")
	for _, file := range files {
		if raw, err := os.ReadFile(file); err == nil {
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if strings.Contains(string(raw), "READY") {
			return
		}
		c, l := knowing(t)
		frame := readFrame(raw)
		if where, _ := channelOf(frame.frame); where != 0 {
			c.remember(place{ID: where, Guild: 1})
		}
		var i interaction
		if json.Unmarshal(frame.frame.Data, &i) == nil && i.Channel != 0 {
			c.remember(place{ID: i.Channel, Guild: 1})
		}
		var d head
		if json.Unmarshal(frame.frame.Data, &d) == nil && d.Channel != 0 {
			c.remember(place{ID: d.Channel, Guild: 1})
		}
		events, err := c.events(t.Context(), l, frame)
		if err != nil {
			return
		}
		for _, e := range events {
			if e.Key == "" || e.Kind == "" || e.Conversation.Channel != "dc" {
				t.Fatalf("incomplete: %+v", e)
			}
			if e.Raw == nil && (e.Conversation.ID == "" || strings.ContainsRune(e.Message.Text, 0)) {
				t.Fatalf("%+v", e)
			}
		}
	})
}
