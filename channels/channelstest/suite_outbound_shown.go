package channelstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
)

// Looks is what a harness shows and breaks besides texts and sends. A nil func is
// something the platform cannot do.
type Looks struct {
	// Look lists what the platform shows of ours in Conversation, in order.
	Look func() []Look
	// LimitNextEdit and LoseNextEdit set the fate of the next edit: rate limited, done
	// with its answer lost.
	LimitNextEdit func(after time.Duration)
	LoseNextEdit  func()
	// Typings counts how often typing was shown in Conversation.
	Typings func() int
	// AtWork says whether a message of the person's is shown to be worked on.
	AtWork func(id channels.MessageID) bool
	// Format renders an answer in Markdown into parts for Conversation, as the router
	// does; nil: as plain text.
	Format func(markdown string) []channels.Body
}

// A Look is one message of ours as the platform shows it.
type Look struct {
	ID      channels.MessageID
	Text    string
	Buttons []string          // labels
	Files   map[string][]byte // by name; several in one part may be several messages
}

func looks(h Harness) bool { return sends(h) && h.Look != nil }

var shownCases = []conformanceCase{
	{"edit", func(h Harness) bool { return looks(h) && is[channels.Editor](h) }, testEditing},
	{"edit of a message that is gone", func(h Harness) bool { return looks(h) && is[channels.Editor](h) && is[channels.Deleter](h) }, testEditGone},
	{"edit without an answer", func(h Harness) bool { return looks(h) && h.LoseNextEdit != nil && is[channels.Editor](h) }, testEditLost},
	{"edit rate limited", func(h Harness) bool { return looks(h) && h.LimitNextEdit != nil && is[channels.Editor](h) }, testEditLimited},
	{"draft", func(h Harness) bool { return looks(h) && is[channels.Drafter](h) && is[channels.Editor](h) }, testDraft},
	{"find a draft", func(h Harness) bool {
		return looks(h) && h.LoseNext != nil && is[channels.Drafter](h) && is[channels.Finder](h)
	}, testFindDraft},
	{"delete what was sent", func(h Harness) bool { return looks(h) && is[channels.Deleter](h) }, testTakeBack},
	{"buttons are shown and taken off", func(h Harness) bool { return looks(h) && here(h).Buttons }, testButtons},
	{"typing", func(h Harness) bool { return h.Typings != nil && is[channels.Typer](h) }, testTyping},
	{"turn at work", func(h Harness) bool { return h.AtWork != nil && is[channels.TurnShower](h) }, testTurn},
	{"files", func(h Harness) bool { return looks(h) && here(h).Files }, testFiles},
	{"long answers", looks, testLongAnswer},
}

func here(h Harness) channels.Features { return h.Channel.Features(h.Conversation) }

// expectLook compares what is shown, IDs left out.
func (r *rig) expectLook(t *testing.T, want ...Look) {
	t.Helper()
	got := r.Look()
	for i := range got {
		got[i].ID = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func testEditing(t *testing.T, r *rig) {
	id := r.send(t, "one", "n1")
	r.send(t, "two", "n2")
	for range 2 { // "not modified" is success
		if err := r.Channel.(channels.Editor).Edit(t.Context(), r.Conversation, id, channels.Body{Text: "changed"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.Look(); len(got) == 0 || got[0].ID != id {
		t.Errorf("%q is not where it was: %+v", id, got)
	}
	r.expectLook(t, Look{Text: "changed"}, Look{Text: "two"})
}

func testEditGone(t *testing.T, r *rig) {
	id := r.send(t, "one", "n1")
	if err := r.Channel.(channels.Deleter).Delete(t.Context(), r.Conversation, id); err != nil {
		t.Fatal(err)
	}
	err := r.Channel.(channels.Editor).Edit(t.Context(), r.Conversation, id, channels.Body{Text: "changed"})
	if !errors.Is(err, channels.ErrNoMessage) {
		t.Errorf("Edit returned %v", err)
	}
	r.expectLook(t)
}

func testEditLost(t *testing.T, r *rig) {
	id := r.send(t, "one", "n1")
	r.LoseNextEdit()
	edit := func() error {
		return r.Channel.(channels.Editor).Edit(t.Context(), r.Conversation, id, channels.Body{Text: "changed"})
	}
	err := edit()
	if err == nil {
		t.Fatal("Edit succeeded without an answer")
	}
	_, refused := errors.AsType[*channels.RefusedError](err)
	if refused || errors.Is(err, channels.ErrNoMessage) || errors.Is(err, channels.ErrGone) {
		t.Errorf("Edit returned %v, which says that nothing was edited", err)
	}
	if err := edit(); err != nil {
		t.Errorf("made again: %v", err)
	}
	r.expectLook(t, Look{Text: "changed"})
}

func testEditLimited(t *testing.T, r *rig) {
	id := r.send(t, "one", "n1")
	r.LimitNextEdit(3 * time.Second)
	err := r.Channel.(channels.Editor).Edit(t.Context(), r.Conversation, id, channels.Body{Text: "changed"})
	if limited, ok := errors.AsType[*channels.RateLimitError](err); !ok || limited.RetryAfter != 3*time.Second {
		t.Errorf("Edit returned %v", err)
	}
	r.expectLook(t, Look{Text: "one"})
}

func testDraft(t *testing.T, r *rig) {
	var id channels.MessageID
	for _, text := range []string{"w", "work", "working"} {
		now, err := r.Channel.(channels.Drafter).Draft(t.Context(), id, r.outbound(text, "n1"))
		if err != nil || now == "" || id != "" && now != id {
			t.Fatalf("Draft of %q returned %q, %v", id, now, err)
		}
		id = now
		r.expectLook(t, Look{Text: text})
	}
	if err := r.Channel.(channels.Editor).Edit(t.Context(), r.Conversation, id, channels.Body{Text: "done"}); err != nil {
		t.Fatal(err)
	}
	r.expectLook(t, Look{Text: "done"})
}

// testFindDraft loses the answer of a draft's first call. It is found and goes on to grow; what is
// sent under another nonce is another message.
func testFindDraft(t *testing.T, r *rig) {
	if r.LoseNextDraft == nil {
		r.LoseNextDraft = r.LoseNext
	}
	r.LoseNextDraft()
	drafter := r.Channel.(channels.Drafter) //nolint:errcheck // asked by needs
	if _, err := drafter.Draft(t.Context(), "", r.outbound("w", "draft of n1")); err == nil {
		t.Fatal("Draft succeeded without an answer")
	}
	id, ok, err := r.Channel.(channels.Finder).Find(t.Context(), r.tried("w", "draft of n1"))
	if err != nil || !ok {
		t.Fatalf("the draft is not found: %v, %v", ok, err)
	}
	if _, err := drafter.Draft(t.Context(), id, r.outbound("work", "draft of n1")); err != nil {
		t.Fatal(err)
	}
	r.send(t, "done", "n1")
	r.expectLook(t, Look{Text: "work"}, Look{Text: "done"})
}

func testTakeBack(t *testing.T, r *rig) {
	id := r.send(t, "one", "n1")
	r.send(t, "two", "n2")
	for range 2 { // one that is gone already is success
		if err := r.Channel.(channels.Deleter).Delete(t.Context(), r.Conversation, id); err != nil {
			t.Fatal(err)
		}
	}
	r.expectLook(t, Look{Text: "two"})
}

func testButtons(t *testing.T, r *rig) {
	out := r.outbound("which?", "n1")
	for i, label := range []string{"tea", "coffee *black*", strings.Repeat("very long ", 20)} {
		out.Body.Buttons = append(out.Body.Buttons, channels.Button{Label: label, Code: fmt.Sprintf("CODE%d%s", i, strings.Repeat("x", 50))})
	}
	id, err := r.Channel.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	shown := r.Look()
	if len(shown) != 1 || len(shown[0].Buttons) != 3 || shown[0].Buttons[1] != "coffee *black*" || !strings.HasPrefix(shown[0].Buttons[2], "very long") {
		t.Fatalf("shown %+v", shown)
	}
	if u, ok := r.Channel.(channels.Unbuttoner); ok {
		if err := u.RemoveButtons(t.Context(), r.Conversation, id); err != nil {
			t.Fatal(err)
		}
		r.expectLook(t, Look{Text: "which?"})
	}
	if e, ok := r.Channel.(channels.Editor); ok {
		body := channels.Body{Text: "and now?", Buttons: out.Body.Buttons[:1]}
		if err := e.Edit(t.Context(), r.Conversation, id, body); err != nil {
			t.Fatal(err)
		}
		r.expectLook(t, Look{Text: "and now?", Buttons: []string{"tea"}})
		if err := e.Edit(t.Context(), r.Conversation, id, channels.Body{Text: "tea"}); err != nil {
			t.Fatal(err)
		}
		r.expectLook(t, Look{Text: "tea"})
	}
}

func testTyping(t *testing.T, r *rig) {
	if err := r.Channel.(channels.Typer).Typing(t.Context(), r.Conversation); err != nil {
		t.Fatal(err)
	}
	if n := r.Typings(); n != 1 {
		t.Errorf("typing was shown %d times", n)
	}
}

// testTurn shows a turn at work, and no more: another process takes away what this one showed.
func testTurn(t *testing.T, r *rig) {
	r.run(t)
	r.Say("hello")
	id := r.Took(t, 1)[0].Message.ID
	show := func(states ...channels.TurnState) {
		t.Helper()
		for _, state := range states {
			if err := r.Channel.(channels.TurnShower).ShowTurn(t.Context(), r.Conversation, id, state); err != nil {
				t.Errorf("%s: %v", state, err)
			}
		}
		if got, want := r.AtWork(id), states[len(states)-1] == channels.TurnWorking; got != want {
			t.Errorf("%v: shown at work: %v", states, got)
		}
	}
	show(channels.TurnDone)
	show(channels.TurnWorking, channels.TurnWorking)
	if r.Restart != nil {
		r.Channel = r.Restart()
	}
	show(channels.TurnWorking, channels.TurnDone, channels.TurnDone)
	show(channels.TurnWorking, channels.TurnWaiting)
}

// testFiles sends one file, then as many in a part as there may be.
func testFiles(t *testing.T, r *rig) {
	bytesOf := map[string][]byte{}
	open := func(f channels.File) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(bytesOf[f.Blob])), nil
	}
	part := func(n int, nonce string) (names []string) {
		out := r.outbound("", nonce)
		out.Open = open
		for i := range n {
			name := fmt.Sprintf("%s-%d.txt", nonce, i)
			bytesOf["blob "+name] = []byte(strings.Repeat(name+"\n", 100))
			out.Body.Files = append(out.Body.Files, channels.File{
				Blob: "blob " + name, Name: name, Type: "text/plain; charset=utf-8", Size: int64(len(bytesOf["blob "+name])),
			})
			names = append(names, name)
		}
		if id, err := r.Channel.Send(t.Context(), out); err != nil || id == "" {
			t.Fatalf("send %d files: %q, %v", n, id, err)
		}
		return names
	}
	r.send(t, "before", "n")
	names := part(1, "one")
	names = append(names, part(max(here(r.Harness).FilesPerPart, 1), "many")...)
	r.send(t, "after", "m")
	shown := map[string][]byte{}
	for _, l := range r.Look() {
		for name, data := range l.Files {
			shown[name] = data
		}
	}
	for _, name := range names {
		if !bytes.Equal(shown[name], bytesOf["blob "+name]) {
			t.Errorf("%s is shown with %d bytes, want %d", name, len(shown[name]), len(bytesOf["blob "+name]))
		}
	}
	all := r.Look()
	if len(all) < 4 || all[0].Text != "before" || all[len(all)-1].Text != "after" {
		t.Errorf("out of order: %+v", all)
	}
}

// testLongAnswer sends an answer as the router does: parts within the limit, in order,
// nothing lost.
func testLongAnswer(t *testing.T, r *rig) {
	features := here(r.Harness)
	var answer strings.Builder
	var words []string
	for i := 0; features.Len(answer.String()) < 3*max(features.MaxText, 100); i++ {
		words = append(words, fmt.Sprintf("word%d", i))
		answer.WriteString(words[i])
		answer.WriteString([]string{" ", " ", " ", "\n\n"}[i%4])
	}
	parts := plainParts(words, features)
	if r.Format != nil {
		parts = r.Format(answer.String())
	}
	if features.MaxText > 0 && len(parts) < 3 {
		t.Fatalf("%d parts", len(parts))
	}
	for i, body := range parts {
		out := r.outbound("", fmt.Sprintf("n%d", i))
		out.Body, out.Part, out.Last = body, i, i == len(parts)-1
		if _, err := r.Channel.Send(t.Context(), out); err != nil {
			t.Fatalf("part %d: %v", i, err)
		}
	}
	var shown []string
	for _, l := range r.Look() {
		if features.MaxText > 0 && features.Len(l.Text) > features.MaxText {
			t.Errorf("a part is %d long", features.Len(l.Text))
		}
		shown = append(shown, strings.Fields(l.Text)...)
	}
	if !slices.Equal(shown, words) {
		t.Errorf("%d words are shown of %d", len(shown), len(words))
	}
}

// plainParts puts as many words into each part as fit.
func plainParts(words []string, f channels.Features) (parts []channels.Body) {
	text := ""
	for _, word := range words {
		if longer := text + " " + word; text == "" || f.MaxText == 0 || f.Len(longer) <= f.MaxText {
			text = strings.TrimSpace(longer)
			continue
		}
		parts, text = append(parts, channels.Body{Text: text}), word
	}
	return append(parts, channels.Body{Text: text})
}
