package telegram

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/channels/wire"
	"switchboard/internal/testkit"
)

func pictures3() []telegramtest.File {
	return []telegramtest.File{
		{Kind: "photo", Name: "a.jpg", Type: "image/jpeg", Data: []byte("a")},
		{Kind: "photo", Name: "b.jpg", Type: "image/jpeg", Data: []byte("b")},
		{Kind: "photo", Name: "c.jpg", Type: "image/jpeg", Data: []byte("c")},
	}
}

func TestAnAlbumIsOneMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	eve := r.AddUser("Eve")
	r.Say(r.ada.ID, "before")
	album := r.Post(telegramtest.Post{Chat: r.ada.ID, Text: "three pictures", Files: pictures3()})
	r.Say(r.ada.ID, "after")
	r.Say(eve.ID, "somebody else")
	r.run(t)
	events := r.Took(t, 4)
	if diff := cmp.Diff([]string{"before", "somebody else", "three pictures", "after"}, r.texts()); diff != "" {
		t.Error(diff)
	}
	m := events[2].Message
	if len(m.Attachments) != 3 || m.ID != messageID(int(album[0].ID)) || m.Attachments[0].ID == m.Attachments[1].ID {
		t.Errorf("the album is %+v", m)
	}
	if want := wire.Key(fmt.Sprint(r.Bot().User.ID), "message", string(events[2].Conversation.ID), fmt.Sprint(album[0].ID)); events[2].Key != want {
		t.Errorf("its key is %s, want %s", events[2].Key, want)
	}
	r.settled(t)
	if n := len(r.Sink.Handed()); n != 4 {
		t.Errorf("%d events were handed in", n)
	}

	r.Edit(r.ada.ID, album[1].ID, "and this is the second")
	edited := r.Took(t, 5)[4]
	if edited.Kind != channels.EventEdited || edited.Message.ID != m.ID || len(edited.Message.Attachments) != 3 ||
		edited.Message.Text != "three pictures\n\nand this is the second" {
		t.Errorf("the edit of one picture is %+v", edited)
	}
}

// What is not whole is not confirmed; ended in between, it comes again as a whole.
func TestAnAlbumThatGrowsIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	part := func(n int, id string) {
		r.Inject(fmt.Sprintf(`{"update_id":UPDATE_ID,"message":{"message_id":%d,"date":1,"media_group_id":%q,"from":{"id":%d,"first_name":"Ada"},"chat":{"id":%d,"type":"private"},"photo":[{"file_id":"p%d"}]}}`, n, id, r.ada.ID, r.ada.ID, n))
	}
	r.c.pace.albumQuiet, r.c.pace.albumMost = 3*time.Second, time.Minute
	part(1, "g")
	r.run(t)
	testkit.Await(t, "the album is looked at", patience, func() bool { return len(r.Calls("getUpdates")) > 3 })
	if len(r.Sink.Handed()) != 0 || len(r.Pending()) != 1 {
		t.Fatalf("%d handed in, %d wait", len(r.Sink.Handed()), len(r.Pending()))
	}
	part(2, "g")
	if m := r.Took(t, 1)[0].Message; len(m.Attachments) != 2 {
		t.Errorf("%+v", m)
	}
	r.settled(t)
	part(3, "g") // far too late: the message is told again, with all it has
	late := r.Took(t, 2)[1]
	if late.Kind != channels.EventEdited || late.Message.ID != "1" || len(late.Message.Attachments) != 3 {
		t.Errorf("the late picture is %+v", late)
	}
	r.settled(t)
}

// sickSink cannot take what says "bad" while nothing came in since it was first handed in.
type sickSink struct {
	*channelstest.Sink
	since int
}

func (s *sickSink) Accept(ctx context.Context, batch []channels.Event) ([]channels.Receipt, error) {
	if batch[0].Message.Text == "bad" && len(s.Events()) <= s.since {
		return nil, fmt.Errorf("%w: something internal", channels.ErrHeld)
	}
	return s.Sink.Accept(ctx, batch)
}

// An album that the router holds back by itself does not hold back what is behind it,
// which is what shows that the album is at fault.
func TestABadAlbumDoesNotHoldItsChannel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Post(telegramtest.Post{Chat: r.ada.ID, Text: "bad", Files: pictures3()})
	r.Say(r.ada.ID, "behind it")
	r.Start(t, func(ctx context.Context, _ channels.Sink) error { return r.c.Run(ctx, &sickSink{Sink: r.Sink}) })
	r.Took(t, 2)
	if diff := cmp.Diff([]string{"behind it", "bad"}, r.texts()); diff != "" {
		t.Error(diff)
	}
	r.settled(t)
}

func newGatherer() *gatherer { return &gatherer{pace: quick} }

func u(id int64, chat int64, album string) update {
	return update{id: id, chat: chat, album: album, event: &channels.Event{Message: channels.Message{ID: messageID(int(id)), Text: fmt.Sprint(id)}}}
}

func names(batch []update) string {
	var out []string
	for _, b := range batch {
		name := b.event.Message.Text
		out = append(out, strings.ReplaceAll(name, "\n\n", "+"))
	}
	return strings.Join(out, " ")
}

func TestAlbumIsConfirmedOnlyWhenItIsWhole(t *testing.T) {
	t.Parallel()
	now := time.Now()
	g := newGatherer()
	step := func(at time.Duration, wantBatch string, wantConfirm int64, list ...update) {
		t.Helper()
		batch := g.ready(list, false, now.Add(at))
		if got := names(batch); got != wantBatch {
			t.Errorf("at %s: handed in %q, want %q", at, got, wantBatch)
		}
		g.took(batch)
		if got := g.confirm(list); got != wantConfirm {
			t.Errorf("at %s: confirmed %d, want %d", at, got, wantConfirm)
		}
	}
	// Another chat's message lies inside the album: it goes at once, the album's own
	// chat waits, and nothing inside the album is confirmed before its end is.
	step(0, "1 4", 1, u(1, 10, ""), u(2, 10, "a"), u(3, 10, ""), u(4, 20, ""), u(5, 10, "a"))
	step(10*time.Millisecond, "", 0, u(2, 10, "a"), u(3, 10, ""), u(4, 20, ""), u(5, 10, "a"))
	step(20*time.Millisecond, "7", 0, u(2, 10, "a"), u(3, 10, ""), u(4, 20, ""), u(5, 10, "a"), u(6, 10, "a"), u(7, 20, ""))
	step(70*time.Millisecond, "2+5+6 3", 7, u(2, 10, "a"), u(3, 10, ""), u(4, 20, ""), u(5, 10, "a"), u(6, 10, "a"), u(7, 20, ""))
	if g.waits() || len(g.taken) != 0 {
		t.Errorf("left over: %+v", g)
	}
	// Two albums in a row of one chat: the second is not handed in before the first.
	step(time.Second, "", 0, u(8, 10, "b"), u(9, 10, "c"))
	step(2*time.Second, "8", 8, u(8, 10, "b"), u(9, 10, "c"))
	step(2*time.Second+10*time.Millisecond, "", 0, u(9, 10, "c"))
	step(3*time.Second, "9", 9, u(9, 10, "c"))
	// An album that is done lies around one that is not: it is confirmed as a whole, later.
	step(4*time.Second, "", 0, u(10, 10, "e"), u(12, 10, "e"))
	step(4*time.Second+50*time.Millisecond, "10+12", 0, u(10, 10, "e"), u(11, 20, "f"), u(12, 10, "e"))
	step(5*time.Second, "11", 12, u(10, 10, "e"), u(11, 20, "f"), u(12, 10, "e"))
	// One that grows for ever is handed in after albumMost.
	var grown []update
	for i := range 6 {
		grown = append(grown, u(int64(20+i), 10, "d"))
		batch := g.ready(grown, false, now.Add(6*time.Second+time.Duration(i)*39*time.Millisecond))
		if whole := i*39 >= 200; whole != (len(batch) == 1) {
			t.Errorf("after %d pictures: %q", i+1, names(batch))
		}
	}
}

// A number that cannot be read is taken from its place, and never passes one that was
// told.
func TestUpdatesWithoutANumberTakeItFromTheirPlace(t *testing.T) {
	t.Parallel()
	g := newGatherer()
	list := []update{u(5, 1, ""), u(0, 0, ""), u(9, 1, ""), u(0, 0, "")}
	list[1].event.Message.Text, list[3].event.Message.Text = "bad", "worse"
	batch := g.ready(list, false, time.Now())
	g.took(batch)
	if got := g.confirm(list); names(batch) != "5 bad 9 worse" || got != 10 {
		t.Errorf("%q, confirmed %d", names(batch), got)
	}
}

// An answer that is full may end inside an album: unless the album stands first, it
// waits until what is before it is confirmed.
func TestAlbumAtTheEndOfAFullAnswerWaits(t *testing.T) {
	t.Parallel()
	now := time.Now()
	g := newGatherer()
	g.ready([]update{u(2, 10, "a")}, true, now) // seen, and quiet for long
	list := []update{u(1, 20, ""), u(2, 10, "a")}
	for i, want := range []string{"1", "2+3"} {
		batch := g.ready(list, true, now.Add(time.Duration(i+1)*time.Second))
		g.took(batch)
		if got := g.confirm(list); names(batch) != want || got != int64(1+2*i) {
			t.Errorf("look %d: %q, want %q; confirmed %d", i, names(batch), want, got)
		}
		list = []update{u(2, 10, "a"), u(3, 10, "a")}
	}
}
