package channelstest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/internal/testkit"
)

func edits(h Harness) bool { return h.Edit != nil }

// editCases are what the rules about edits rest on: an edit is told as the message's
// whole new state, under a key of its own, and never as a message.
var editCases = []conformanceCase{
	{"edit: the whole new state", edits, testEdit("one", "one, *changed* <b>")},
	{"edit: each has its key", edits, testEditKeys},
	{"edit: told twice, one key", func(h Harness) bool { return edits(h) && h.Repeat != nil }, testEditRepeated},
	{"edit: that changes nothing", func(h Harness) bool { return edits(h) && h.Touch != nil }, testTouch},
	{"edit: into a command", edits, testEdit("help me", "/help me")},
	{"edit: keeps the files", func(h Harness) bool { return edits(h) && h.Attach != nil }, testEditAttached},
	{"edit: not accepted comes again", edits, testEditRefused},
	{"edit: after its message", edits, testEditOrder},
	{"edit: made while away", edits, testEditBacklog},
}

// same fails unless e is an edit of the message that wrote is, to text.
func same(t *testing.T, wrote, e channels.Event, text string) {
	t.Helper()
	if e.Kind != channels.EventEdited || e.Key == wrote.Key || e.Key == "" {
		t.Errorf("the edit of %s is told as %s under key %q", wrote.Key, e.Kind, e.Key)
	}
	if e.Message.ID != wrote.Message.ID || e.Message.Text != text || e.Conversation.ID != wrote.Conversation.ID || e.Sender.ID != wrote.Sender.ID {
		t.Errorf("the edit of %+v to %q is %+v", wrote, text, e)
	}
}

func testEdit(from, to string) func(*testing.T, *rig) {
	return func(t *testing.T, r *rig) {
		r.begin(t, from)
		r.Edit(to)
		r.Took(t, 2)
		same(t, r.Sink.Events()[0], r.Sink.Events()[1], to)
	}
}

func testEditKeys(t *testing.T, r *rig) {
	r.begin(t, "one")
	keys := map[channels.EventKey]bool{}
	for i, text := range []string{"two", "three", "one", "two"} { // back and forth
		r.Edit(text)
		r.Took(t, i+2)
		e := r.Sink.Events()[i+1]
		keys[e.Key] = true
		same(t, r.Sink.Events()[0], e, text)
	}
	if len(keys) != 4 {
		t.Errorf("four edits have %d keys", len(keys))
	}
}

func testEditRepeated(t *testing.T, r *rig) {
	r.Repeat(3)
	r.run(t)
	r.Say("one")
	r.Edit("two")
	testkit.Await(t, "all repetitions come", Patience, func() bool { return len(r.Sink.Handed()) >= 6 })
	if diff := cmp.Diff([]string{"one", "two"}, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}

func testTouch(t *testing.T, r *rig) {
	r.begin(t, "one")
	r.Touch()
	r.Say("two")
	testkit.Await(t, "the next message comes", Patience, func() bool { e := r.Sink.Events(); return e[len(e)-1].Message.Text == "two" })
	events := r.Sink.Events()
	if len(events) == 3 { // told, as it may be: then as an edit with the same text
		same(t, events[0], events[1], "one")
	}
}

func testEditAttached(t *testing.T, r *rig) {
	r.run(t)
	r.Attach("see this", uploads[0])
	r.Took(t, 1)
	r.Edit("look at this")
	r.Took(t, 2)
	wrote, edited := r.Sink.Events()[0], r.Sink.Events()[1]
	same(t, wrote, edited, "look at this")
	if a := edited.Message.Attachments; len(a) != 1 || a[0].Name != uploads[0].Name {
		t.Errorf("the edit has the files %+v, the message %+v", a, wrote.Message.Attachments)
	}
}

func testEditRefused(t *testing.T, r *rig) {
	r.supervise(t)
	r.Say("one")
	r.Took(t, 1)
	r.Sink.Fail(2)
	r.Edit("two")
	r.Took(t, 2)
	same(t, r.Sink.Events()[0], r.Sink.Events()[1], "two")
}

// Where the original is not committed yet, its edit must not overtake it.
func testEditOrder(t *testing.T, r *rig) {
	release := r.Sink.Hold()
	defer release()
	r.supervise(t)
	r.Say("one")
	testkit.Await(t, "the sink is asked", Patience, func() bool { return r.Sink.Held() > 0 })
	r.Edit("two")
	release()
	r.Took(t, 2)
	same(t, r.Sink.Events()[0], r.Sink.Events()[1], "two")
}

func testEditBacklog(t *testing.T, r *rig) {
	r.begin(t, "one")
	if err := r.Halt(t); err != nil {
		t.Fatal(err)
	}
	r.Edit("two")
	r.Say("three")
	r.run(t)
	r.Took(t, 3)
	same(t, r.Sink.Events()[0], r.Sink.Events()[1], "two")
}
