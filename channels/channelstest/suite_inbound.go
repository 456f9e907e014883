package channelstest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/internal/testkit"
)

var inboundCases = []conformanceCase{
	{"names", always, testNames},
	{"receive in order", always, testReceive},
	{"texts come as written", always, testTexts},
	{"not accepted comes again", always, testAcceptError},
	{"acknowledged only after accept", func(h Harness) bool { return h.Pending != nil }, testAckAfterAccept},
	{"duplicates keep their key", func(h Harness) bool { return h.Repeat != nil }, testDuplicates},
	{"out of order and twice", func(h Harness) bool { return h.Disorder != nil && h.Repeat != nil && h.Pending != nil }, testDisorder},
	{"undecodable is told and stops nothing", func(h Harness) bool { return h.Garble != nil }, testGarbled},
	{"poison among others stops nothing", func(h Harness) bool { return h.Garble != nil && h.Pending != nil }, testPoison},
	{"backlog after a pause", always, testBacklog},
	{"restart with a backlog", always, testRestart},
	{"connection lost", func(h Harness) bool { return h.Drop != nil }, testDrop},
	{"unauthorized", func(h Harness) bool { return h.Revoke != nil }, testUnauthorized},
	{"run ends with its context", always, testRunEnds},
	{"run ends while the sink waits", always, testRunEndsInAccept},
}

func testNames(t *testing.T, r *rig) {
	if r.Channel.Name() == "" || r.Channel.Kind() == "" {
		t.Errorf("name %q, kind %q", r.Channel.Name(), r.Channel.Kind())
	}
}

func testReceive(t *testing.T, r *rig) {
	r.run(t)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprintf("text %d", i))
		r.Say(want[i])
		if i%5 == 0 { // some alone, some in batches
			r.Took(t, i+1)
		}
	}
	r.Took(t, len(want))
	if diff := cmp.Diff(want, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
	for _, e := range r.Sink.Events() {
		if e.Kind != channels.EventMessage || e.Key == "" || e.Message.ID == "" || e.Sender.ID == "" {
			t.Errorf("incomplete event %+v", e)
		}
		c := e.Conversation
		if c.Channel != r.Channel.Name() || c.ID != r.Conversation.ID || c.Kind == "" || c.Place == "" {
			t.Errorf("conversation %+v, want %+v", c, r.Conversation)
		}
	}
}

func testTexts(t *testing.T, r *rig) {
	r.run(t)
	want := []string{
		"/help me", "two\nlines", "  spaces  ", "שלום עולם", "👩‍👩‍👧 😀", "{\"a\":\"\\u0000\"}", "*not* <b>markup</b> &amp;",
		strings.Repeat("long ", 4000),
	}
	for i, text := range want {
		r.Say(text)
		r.Took(t, i+1)
	}
	if diff := cmp.Diff(want, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}

func testAcceptError(t *testing.T, r *rig) {
	r.Sink.Fail(3)
	r.supervise(t)
	r.Say("one")
	r.Say("two")
	r.Took(t, 2)
	texts := r.Sink.Texts()
	slices.Sort(texts) // the harness writes both at once
	if diff := cmp.Diff([]string{"one", "two"}, texts); diff != "" {
		t.Error(diff)
	}
	if handed := r.Sink.Handed(); len(handed) < 4 {
		t.Errorf("refused events were not handed in again: %d in all", len(handed))
	}
}

func testAckAfterAccept(t *testing.T, r *rig) {
	release := r.Sink.Hold()
	defer release()
	r.supervise(t)
	r.Say("one")
	testkit.Await(t, "the sink is asked", Patience, func() bool { return r.Sink.Held() > 0 })
	time.Sleep(30 * time.Millisecond) // an early acknowledgement needs time to show
	if n := r.Pending(); n != 1 {
		t.Errorf("%d events are pending while the sink has not committed, want 1", n)
	}
	r.Sink.Fail(2)
	release()
	r.Took(t, 1)
	testkit.Await(t, "everything is acknowledged", Patience, func() bool { return r.Pending() == 0 })
	r.Say("two")
	r.Took(t, 2)
	if diff := cmp.Diff([]string{"one", "two"}, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}

func testDuplicates(t *testing.T, r *rig) {
	r.Repeat(5)
	r.run(t)
	r.Say("one")
	r.Say("two")
	testkit.Await(t, "all repetitions come", Patience, func() bool { return len(r.Sink.Handed()) >= 10 })
	if diff := cmp.Diff([]string{"one", "two"}, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}

// What a platform tells out of order and more than once comes whole, each event under
// the key that it has in order, and is confirmed.
func testDisorder(t *testing.T, r *rig) {
	r.begin(t, "first")
	if err := r.Halt(t); err != nil {
		t.Fatal(err)
	}
	r.Disorder(true)
	r.Repeat(2)
	want := []string{"first"}
	for i := range 30 {
		want = append(want, fmt.Sprintf("text %02d", i))
		r.Say(want[i+1])
		if i == 15 {
			r.supervise(t)
		}
	}
	r.Took(t, len(want))
	testkit.Await(t, "everything is acknowledged", Patience, func() bool { return r.Pending() == 0 })
	texts := r.Sink.Texts()
	slices.Sort(texts)
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
	keys := map[string]channels.EventKey{}
	for _, e := range r.Sink.Handed() {
		text := e.Message.Text
		if key, known := keys[text]; known && key != e.Key {
			t.Errorf("%q has the keys %q and %q", text, key, e.Key)
		}
		keys[text] = e.Key
	}
	if n := len(r.Sink.Handed()); n < 2*len(want)-1 {
		t.Errorf("%d events were handed in, want each of the later ones twice", n)
	}
	r.Disorder(false)
	r.Repeat(1)
	r.Say("last")
	r.Took(t, len(want)+1)
}

func testGarbled(t *testing.T, r *rig) {
	r.begin(t, "one")
	r.Garble()
	r.Say("two")
	r.Took(t, 3)
	events := r.Sink.Events()
	if e := events[1]; e.Kind != channels.EventUndecodable || e.Key == "" || e.Reason == "" || len(e.Raw) == 0 {
		t.Errorf("undecodable event %+v", e)
	}
	if events[2].Message.Text != "two" {
		t.Errorf("after it came %+v", events[2])
	}
}

// What cannot be read stands among others in one batch, and is confirmed as they are.
func testPoison(t *testing.T, r *rig) {
	want := []string{"one", "two", "", "three", "", "four"}
	for _, text := range want {
		if text == "" {
			r.Garble()
		} else {
			r.Say(text)
		}
	}
	r.run(t)
	r.Took(t, len(want))
	if diff := cmp.Diff([]string{"one", "two", "three", "four"}, slices.DeleteFunc(r.Sink.Texts(), func(text string) bool { return text == "" })); diff != "" {
		t.Error(diff)
	}
	testkit.Await(t, "everything is acknowledged", Patience, func() bool { return r.Pending() == 0 })
	// What cannot be read has no conversation to be in order with.
	unreadable := slices.DeleteFunc(r.Sink.Events(), func(e channels.Event) bool { return e.Kind != channels.EventUndecodable })
	if len(unreadable) != 2 || unreadable[0].Key == unreadable[1].Key {
		t.Errorf("unreadable events %+v", unreadable)
	}
}

// testRestart ends the channel with events in hand that were not taken, and begins
// again with more of them than come at once.
func testRestart(t *testing.T, r *rig) {
	r.begin(t, "text 0")
	release := r.Sink.Hold()
	defer release()
	const n = 150
	for i := range n {
		r.Say(fmt.Sprintf("text %d", i+1))
	}
	testkit.Await(t, "the sink is asked", Patience, func() bool { return r.Sink.Held() > 0 })
	r.Sink.Fail(1) // what it was asked to take is lost with the process
	if err := r.Halt(t); err != nil {
		t.Fatal(err)
	}
	release()
	r.Sink.Fail(0)
	if r.Restart != nil {
		r.Channel = r.Restart()
	}
	r.run(t)
	r.Took(t, n+1)
	var want []string
	for i := range n + 1 {
		want = append(want, fmt.Sprintf("text %d", i))
	}
	if diff := cmp.Diff(want, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}

func testBacklog(t *testing.T, r *rig) {
	r.begin(t, "one")
	if err := r.Halt(t); err != nil {
		t.Fatal(err)
	}
	r.Say("two")
	r.run(t)
	r.Took(t, 2)
	r.Say("three")
	r.Took(t, 3)
	if diff := cmp.Diff([]string{"one", "two", "three"}, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}

func testDrop(t *testing.T, r *rig) {
	r.begin(t, "one")
	testkit.Await(t, "Run ends", Patience, func() bool {
		r.Drop() // again, when it fell between two calls
		return len(r.done) > 0
	})
	if err := r.Ended(t); err == nil || errors.Is(err, channels.ErrUnauthorized) {
		t.Fatalf("Run returned %v for a lost connection", err)
	}
	r.Say("two")
	r.run(t)
	r.Took(t, 2)
}

func testUnauthorized(t *testing.T, r *rig) {
	r.Revoke()
	r.run(t)
	if err := r.Ended(t); !errors.Is(err, channels.ErrUnauthorized) {
		t.Errorf("Run returned %v", err)
	}
	if r.Shown == nil {
		return
	}
	if _, err := r.Channel.Send(t.Context(), r.outbound("x", "n")); !errors.Is(err, channels.ErrUnauthorized) {
		t.Errorf("Send returned %v", err)
	}
}

func testRunEnds(t *testing.T, r *rig) {
	check := noLeak(t)
	r.begin(t, "one")
	began := time.Now()
	if err := r.Halt(t); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("Run took %s to end", d)
	}
	check()
}

func testRunEndsInAccept(t *testing.T, r *rig) {
	release := r.Sink.Hold()
	defer release()
	r.run(t)
	r.Say("one")
	testkit.Await(t, "the sink is asked", Patience, func() bool { return r.Sink.Held() > 0 })
	if err := r.Halt(t); err != nil {
		t.Errorf("Run returned %v", err)
	}
}
