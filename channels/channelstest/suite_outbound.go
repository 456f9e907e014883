package channelstest

import (
	"context"
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

func sends(h Harness) bool { return h.Shown != nil }

var outboundCases = slices.Concat(sendCases, shownCases, healthCases)

var sendCases = []conformanceCase{
	{"features without I/O", always, testFeatures},
	{"send returns an ID", sends, testSend},
	{"sends keep their order", sends, testSendOrder},
	{"a part of the longest text", sends, testLongText},
	{"rate limited", func(h Harness) bool { return h.LimitNext != nil }, testRateLimit},
	{"refused", func(h Harness) bool { return h.RefuseNext != nil }, testRefused},
	{"conversation closed", func(h Harness) bool { return h.GoneNext != nil }, testGone},
	{"not connected", func(h Harness) bool { return sends(h) && h.Down != nil }, testNotConnected},
	{"answer lost", func(h Harness) bool { return h.LoseNext != nil }, testLost},
	{"find", func(h Harness) bool { return h.LoseNext != nil && is[channels.Finder](h) }, testFind},
	{"find files", func(h Harness) bool {
		return h.LoseNext != nil && looks(h) && is[channels.Finder](h) && here(h).Files
	}, testFindFiles},
	{"deduplicate", func(h Harness) bool { return h.LoseNext != nil && is[channels.Deduper](h) }, testDedupe},
	{"readers are woken without waiting", is[channels.Reader], testWake},
}

func is[A any](h Harness) bool {
	_, ok := h.Channel.(A)
	return ok
}

func testFeatures(t *testing.T, r *rig) {
	if r.Down != nil {
		r.Down(true)
		defer r.Down(false)
	}
	calls := 0
	if r.Calls != nil {
		calls = r.Calls()
	}
	began := time.Now()
	for range 100 {
		r.Channel.Features(r.Conversation)
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("100 calls took %s", d)
	}
	if r.Calls != nil && r.Calls() != calls {
		t.Error("the platform was asked")
	}
	if f := r.Channel.Features(r.Conversation); f.MaxText < 0 || f.Len("ab") < 1 {
		t.Errorf("%+v", f)
	}
}

func testSend(t *testing.T, r *rig) {
	first, second := r.send(t, "one", "n1"), r.send(t, "two", "n2")
	if first == second {
		t.Errorf("two messages have the ID %q", first)
	}
}

func testSendOrder(t *testing.T, r *rig) {
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprintf("text %d", i))
		r.send(t, want[i], fmt.Sprintf("n%d", i))
	}
	if diff := cmp.Diff(want, r.Shown()); diff != "" {
		t.Error(diff)
	}
}

func testLongText(t *testing.T, r *rig) {
	f := r.Channel.Features(r.Conversation)
	text := "start <b>&amp; *x* 😀"
	limit := f.MaxText
	if limit == 0 {
		limit = 20_000
	}
	if rest := limit - f.Len(text); rest > 0 {
		text += strings.Repeat("x", rest)
	}
	r.send(t, text, "n")
	if diff := cmp.Diff([]string{text}, r.Shown()); diff != "" {
		t.Error(diff)
	}
}

func testRateLimit(t *testing.T, r *rig) {
	for _, whole := range []bool{false, true} {
		r.LimitNext(3*time.Second, whole)
		_, err := r.Channel.Send(t.Context(), r.outbound("x", "n"))
		limited, ok := errors.AsType[*channels.RateLimitError](err)
		if !ok {
			t.Fatalf("Send returned %v", err)
		}
		if limited.RetryAfter != 3*time.Second || limited.Channel != whole || limited.Op == "" {
			t.Errorf("%+v", limited)
		}
	}
	if shown := r.Shown(); len(shown) != 0 {
		t.Errorf("sent all the same: %q", shown)
	}
	r.send(t, "x", "n")
}

func testRefused(t *testing.T, r *rig) {
	for _, temporary := range []bool{false, true} {
		r.RefuseNext(temporary)
		_, err := r.Channel.Send(t.Context(), r.outbound("x", "n"))
		refused, ok := errors.AsType[*channels.RefusedError](err)
		if !ok {
			t.Fatalf("Send returned %v", err)
		}
		if refused.Temporary != temporary || refused.Reason == "" {
			t.Errorf("%+v", refused)
		}
	}
	r.send(t, "x", "n")
}

func testGone(t *testing.T, r *rig) {
	r.GoneNext()
	if _, err := r.Channel.Send(t.Context(), r.outbound("x", "n")); !errors.Is(err, channels.ErrGone) {
		t.Errorf("Send returned %v", err)
	}
}

func testNotConnected(t *testing.T, r *rig) {
	r.Down(true)
	_, err := r.Channel.Send(t.Context(), r.outbound("x", "n"))
	r.Down(false)
	if !errors.Is(err, channels.ErrNotConnected) {
		t.Errorf("Send returned %v", err)
	}
	if shown := r.Shown(); len(shown) != 0 {
		t.Errorf("sent all the same: %q", shown)
	}
	r.send(t, "x", "n")
}

// lose sends with the answer lost and checks that the error promises nothing.
func lose(t *testing.T, r *rig) {
	t.Helper()
	r.LoseNext()
	_, err := r.Channel.Send(t.Context(), r.outbound("x", "n1"))
	if err == nil {
		t.Fatal("Send succeeded without an answer")
	}
	_, limited := errors.AsType[*channels.RateLimitError](err)
	_, refused := errors.AsType[*channels.RefusedError](err)
	if limited || refused || errors.Is(err, channels.ErrNotConnected) || errors.Is(err, channels.ErrGone) {
		t.Errorf("Send returned %v, which says that nothing was sent", err)
	}
}

func testLost(t *testing.T, r *rig) {
	lose(t, r)
	if diff := cmp.Diff([]string{"x"}, r.Shown()); diff != "" {
		t.Error(diff)
	}
}

func testFind(t *testing.T, r *rig) {
	finder := r.Channel.(channels.Finder) //nolint:errcheck // asked by needs
	lose(t, r)
	id, ok, err := finder.Find(t.Context(), r.tried("x", "n1"))
	if err != nil || !ok || id == "" {
		t.Errorf("the part that arrived: %q, %v, %v", id, ok, err)
	}
	if id, ok, err := finder.Find(t.Context(), r.tried("x", "n2", id)); err != nil || ok {
		t.Errorf("a part that was never sent: %q, %v, %v", id, ok, err)
	}
	if r.Down == nil {
		return
	}
	r.Down(true)
	defer r.Down(false)
	if _, _, err := finder.Find(t.Context(), r.tried("x", "n1")); err == nil {
		t.Error("an unreachable platform was asked without an error")
	}
}

// testFindFiles sends parts that look the same, the answer of the second one lost. Whoever looks
// for it runs again and has what was noted; nothing is shown before that is safe.
func testFindFiles(t *testing.T, r *rig) {
	noted := map[string]string{}
	var taken []channels.MessageID
	part := func(nonce string) channels.Outbound {
		out := r.tried("", nonce, taken...)
		out.Body.Files = []channels.File{{Blob: "b", Name: "a.txt", Type: "text/plain; charset=utf-8", Size: 4}}
		out.Open = func(channels.File) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("data")), nil }
		out.Noted = noted[nonce]
		shown := len(r.Look())
		out.Note = func(_ context.Context, text string) error {
			if noted[nonce] = text; len(r.Look()) != shown {
				t.Error("shown before it was noted")
			}
			if nonce == "full" {
				return errors.New("the disk is full")
			}
			return nil
		}
		return out
	}
	first, err := r.Channel.Send(t.Context(), part("n1"))
	if err != nil {
		t.Fatal(err)
	}
	taken = append(taken, first)
	if r.LoseNextFiles == nil {
		r.LoseNextFiles = r.LoseNext
	}
	r.LoseNextFiles()
	if _, err := r.Channel.Send(t.Context(), part("n2")); err == nil {
		t.Fatal("Send succeeded without an answer")
	}
	find := func(nonce string) (channels.MessageID, bool) {
		t.Helper()
		id, ok, err := r.Channel.(channels.Finder).Find(t.Context(), part(nonce))
		if err != nil {
			t.Error(err)
		}
		return id, ok
	}
	if r.Restart != nil {
		r.Channel = r.Restart()
	}
	id, ok := find("n2")
	if all := r.Look(); !ok || len(all) != 2 || id == first || id != all[1].ID {
		t.Errorf("the part that arrived is %q, %v; the one before %q; shown %+v", id, ok, first, all)
	}
	taken = append(taken, id)
	if id, ok := find("n3"); ok {
		t.Errorf("a part that was never sent is %q", id)
	}
	if noted["n2"] == "" {
		return
	}
	_, err = r.Channel.Send(t.Context(), part("full"))
	if refused, ok := errors.AsType[*channels.RefusedError](err); !ok || !refused.Temporary || len(r.Look()) != 2 {
		t.Errorf("what could not be noted: %v; shown %+v", err, r.Look())
	}
}

func testDedupe(t *testing.T, r *rig) {
	if w := r.Channel.(channels.Deduper).Window(); w <= 0 { //nolint:errcheck // asked by needs
		t.Fatalf("window %s", w)
	}
	lose(t, r)
	r.send(t, "x", "n1")
	if diff := cmp.Diff([]string{"x"}, r.Shown()); diff != "" {
		t.Error(diff)
	}
}

func testWake(t *testing.T, r *rig) {
	reader := r.Channel.(channels.Reader) //nolint:errcheck // asked by needs
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			reader.Wake(r.Conversation.ID)
			reader.Wake("nobody")
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		t.Error("Wake blocks")
	}
}
