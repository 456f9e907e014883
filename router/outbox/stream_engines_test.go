package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router"
	"switchboard/router/routertest"
)

// elsewhere makes a hold the channel and b run the turns.
func elsewhere(t *testing.T, runs routertest.Acting) (a, b *rig) {
	t.Helper()
	a, b = twins(t)
	for _, r := range []*rig{a, b} {
		r.Script.Rich, r.Script.DraftEvery, r.Script.TypingFor = true, 500*time.Millisecond, 5*time.Second
	}
	b.Script.Silence = 0
	a.Config.Workers = 1
	b.Agent = runs
	a.Agent = routertest.Acting(func(p routertest.Play) error {
		if p.Turn.Message.Text != "busy" {
			return runs(p)
		}
		<-p.Ctx.Done() // until it is cancelled, or the engine ends
		if errors.Is(context.Cause(p.Ctx), agent.ErrCancelled) {
			p.Ctx = context.WithoutCancel(p.Ctx)
			return p.Answer("Cancelled.")
		}
		return agent.ErrReleased
	})
	routertest.StartBoth(a.Rig, b.Rig)
	a.Platform.Say("c0", "bob", "busy")
	a.Until("the holder has no worker", func() bool {
		turns := a.Turns()
		return len(turns) == 1 && turns[0].State == "running"
	})
	return a, b
}

// A turn runs on an engine that does not hold the channel: the text goes by the row, at
// most once a second, and the holder shows it, in a message that the answer edits.
func TestHolderShowsTheDraftsOfOthers(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var marks []string
	text := numbered(24)
	a, b := elsewhere(t, writing(text, 200*time.Millisecond))
	a.OnChange(scripted.OpDraft, func(c scripted.Change) channelstest.Fault {
		mu.Lock()
		defer mu.Unlock()
		for _, d := range a.drafts() {
			marks = append(marks, string(d.Stage)+" "+string(d.PlatformID))
		}
		return channelstest.Fault{}
	})
	a.Platform.Say("c1", "ada", "count")
	sent := a.Await(1)
	a.Until("it is answered", func() bool {
		sent = a.Platform.Sent()
		return sent[0].Text == text && !sent[0].Draft
	})
	a.Until("it is written down", func() bool { return len(a.Deliveries("sent")) == 1 })
	if len(sent) != 1 || sent[0].Draft || b.Deliveries("sent")[0].PlatformID != string(sent[0].ID) {
		t.Errorf("shown %+v", sent)
	}
	drafts := drafted(a)
	if len(drafts) < 2 || len(drafts) > 5 {
		t.Errorf("%d drafts in 5 s: %q", len(drafts), drafts)
	}
	for i, d := range drafts[1:] { // the first shows nothing yet
		if !strings.HasPrefix(text, d) || i > 0 && len(d) <= len(drafts[i]) {
			t.Errorf("draft %d does not grow: %q", i, d)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for i, mark := range marks {
		if want := "shown " + string(sent[0].ID); i == 0 && mark != "begun " || i > 0 && mark != want {
			t.Errorf("draft %d is %q in the ledger", i, mark)
		}
	}
	typed := 0
	for _, c := range a.Platform.Changes(scripted.OpTyping) {
		if c.Conversation == "c1" {
			typed++
		}
	}
	if typed == 0 {
		t.Error("typing was not shown")
	}
	if left := a.drafts(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

// The holder goes while the draft grows: who holds the channel next goes on with the
// same message.
func TestNextHolderGoesOnWithTheDraft(t *testing.T) {
	t.Parallel()
	text := numbered(40)
	a, b := elsewhere(t, writing(text, 200*time.Millisecond))
	a.Platform.Say("c1", "ada", "count")
	a.Await(1)
	before := len(drafted(a))
	a.End()
	b.Until("the next holder shows it", func() bool { return b.Connected() && len(drafted(b)) > before+2 })
	b.Until("it is answered", func() bool {
		for _, s := range b.Platform.Sent() {
			if s.Text == text {
				return true
			}
		}
		return false
	})
	shown := 0
	for _, s := range b.Platform.Sent() {
		if s.Conversation == "c1" {
			shown++
		}
	}
	if shown != 1 {
		t.Errorf("shown %q", routertest.Texts(b.Platform.Sent()))
	}
}

// The draft of a turn elsewhere is under way for the first time as the turn speaks: the
// answer goes out again, and what is shown is taken back by the holder.
func TestHolderTakesALateDraftBack(t *testing.T) {
	t.Parallel()
	calling := make(chan struct{}, 1)
	a, _ := elsewhere(t, func(p routertest.Play) error {
		p.Stream("the")
		<-calling
		return p.Answer("the answer")
	})
	a.OnChange(scripted.OpDraft, func(c scripted.Change) channelstest.Fault {
		calling <- struct{}{}
		return channelstest.Fault{Delay: 4 * time.Second}
	})
	a.Platform.Say("c1", "ada", "ask")
	a.Until("the draft is taken back", func() bool {
		dropped := a.Deliveries("dropped")
		return len(dropped) == 1 && dropped[0].Outcome == "taken_back"
	})
	if sent := a.Platform.Sent(); len(sent) != 1 || sent[0].Text != "the answer" || sent[0].Edits != 0 {
		t.Errorf("shown %+v", sent)
	}
}

// A screen is a channel whose clients read for themselves and see what grows.
type screen struct {
	mu     sync.Mutex
	told   []string // texts given, and wakes
	accept chan channels.Sink
}

var (
	_ channels.Streamer = (*screen)(nil)
	_ channels.Reader   = (*screen)(nil)
)

func newScreen() *screen { return &screen{accept: make(chan channels.Sink, 1)} }

// Name implements channels.Channel.
func (*screen) Name() string { return "screen" }

// Kind implements channels.Channel.
func (*screen) Kind() string { return "scripted" }

// Run implements channels.Channel.
func (s *screen) Run(ctx context.Context, sink channels.Sink) error {
	s.accept <- sink
	<-ctx.Done()
	return nil
}

// Send implements channels.Channel.
func (*screen) Send(context.Context, channels.Outbound) (channels.MessageID, error) {
	return "", channels.ErrNotConnected
}

// Features implements channels.Channel.
func (*screen) Features(channels.Conversation) channels.Features { return channels.Features{} }

// Wake implements channels.Reader.
func (s *screen) Wake(channels.ConversationID) { s.note("wake") }

// Stream implements channels.Streamer.
func (s *screen) Stream(conv channels.ConversationID, turn int64, text string) {
	s.note(fmt.Sprintf("%s %d %q", conv, turn, text))
}

func (s *screen) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, what)
}

// texts are what was told since a text was told for the first time.
func (s *screen) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, what := range s.told {
		if what != "wake" {
			return append([]string(nil), s.told[i:]...)
		}
	}
	return nil
}

// say puts a message in by the screen.
func (s *screen) say(r *rig, n int, text string) {
	r.T.Helper()
	sink := <-s.accept
	s.accept <- sink
	e := routertest.Event(n, "s1", "ada", text)
	e.Conversation.Channel = "screen"
	if _, err := sink.Accept(r.T.Context(), []channels.Event{e}); err != nil {
		r.T.Fatal(err)
	}
}

func (r *rig) screens(s *screen) {
	config := router.DefaultChannelConfig()
	r.Readers = []router.Attached{{Channel: s, Config: config}}
}

// Clients that read for themselves are shown each text as it comes, and no row is
// written for it; the message is there before the text goes.
func TestReaderIsShownTheStreamAtOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newScreen()
		r.screens(s)
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			p.Stream("one")
			p.Stream("one two")
			p.Pause(1800 * time.Millisecond)
			return p.Answer("one two three")
		})
		r.Start()
		s.say(r, 1, "count")
		r.Until("it is answered", func() bool { return len(r.Turns()) == 1 && r.Turns()[0].State == "done" })
		r.Until("the text has gone", func() bool { return strings.HasSuffix(fmt.Sprint(s.texts()), `""]`) })
		// What looks after lost wakes may wake once more.
		if got, want := fmt.Sprint(slices.Compact(s.texts())), `[s1 1 "one" s1 1 "one two" wake s1 1 ""]`; got != want {
			t.Errorf("told %s, want %s", got, want)
		}
		for _, state := range []string{"draft", "dropped"} {
			if rows := r.Deliveries(state); len(rows) > 0 {
				t.Errorf("rows %+v", rows)
			}
		}
	})
}

// The client is connected to another engine than the one that runs its turn.
func TestStreamReachesTheClientsEngine(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	here, there := newScreen(), newScreen()
	a.screens(here)
	b.screens(there)
	a.Config.Workers = 1
	defer a.Brain.Held("busy")()
	text := numbered(20)
	b.Agent = writing(text, 200*time.Millisecond)
	routertest.StartBusy(a.Rig, b.Rig, "c0", "bob", "busy")
	here.say(a, 1, "count")
	a.Until("the text is shown and gone", func() bool { return strings.HasSuffix(fmt.Sprint(here.texts()), `""]`) })
	grown := 0
	last := ""
	for _, told := range here.texts() {
		if told == "wake" || strings.HasSuffix(told, `""`) {
			continue
		}
		_, shown, _ := strings.Cut(told, `"`)
		shown = strings.TrimSuffix(shown, `"`)
		if !strings.HasPrefix(text, shown) || len(shown) < len(last) {
			t.Errorf("told %q after %q", shown, last)
		}
		if len(shown) > len(last) {
			grown++
		}
		last = shown
	}
	if grown < 2 || grown > 4 {
		t.Errorf("%d texts in 4 s: %q", grown, here.texts())
	}
	if left := b.Deliveries("draft"); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
}
