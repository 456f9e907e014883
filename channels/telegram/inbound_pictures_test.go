package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/telegram/telegramtest"
)

// picture queues a picture of an album.
func (r *rig) picture(n int, album string) {
	r.Inject(pictureOf(r.ada.ID, n, album, ""))
}

func pictureOf(chat int64, n int, album, caption string) string {
	return fmt.Sprintf(`{"update_id":UPDATE_ID,"message":%s}`, pictureBody(chat, n, album, caption, 0))
}

func pictureBody(chat int64, n int, album, caption string, edited int64) string {
	return fmt.Sprintf(`{"message_id":%d,"date":1,"edit_date":%d,"media_group_id":%q,"caption":%q,"from":{"id":%d,"first_name":"Ada"},"chat":{"id":%[5]d,"type":"private"},"photo":[{"file_id":"p%[1]d"}]}`, n, edited, album, caption, chat)
}

// shownAt are the newest states of messages, by ID.
func shownAt(events []channels.Event) map[channels.MessageID]channels.Message {
	shown := map[channels.MessageID]channels.Message{}
	for _, e := range events {
		shown[e.Message.ID] = e.Message
	}
	return shown
}

func filesOf(m channels.Message) string {
	var ids []string
	for _, a := range m.Attachments {
		ids = append(ids, a.ID)
	}
	return strings.Join(ids, " ")
}

// deafAfter makes every poll fail once n events were taken.
func (r *rig) deafAfter(n int) {
	r.Break(telegramtest.Fault{Method: "getUpdates", Times: -1, Cut: true, When: func(telegramtest.Call) bool { return len(r.Sink.Events()) >= n }})
}

// again runs the channel once more, in another process or not, until all is confirmed.
func (r *rig) again(t *testing.T, restarted bool) {
	t.Helper()
	if restarted {
		r.c = client(r.URL(), r.Token())
		t.Cleanup(r.c.Wire.Close)
	}
	r.run(t)
	r.settled(t)
}

func TestAlbumThatGrewOverACrashIsOneMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.picture(1, "g")
	r.picture(2, "g")
	r.deafAfter(1)
	r.run(t)
	r.Took(t, 1)
	_ = r.Halt(t)
	r.Mend()
	r.picture(3, "g")
	r.again(t, true)
	shown := shownAt(r.Sink.Events())
	if len(shown) != 1 || filesOf(shown["1"]) != "p1 p2 p3" {
		t.Errorf("what is shown is %+v", shown)
	}
}

func TestLatePictureDeliveredTwiceIsOneEdit(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} { // in another process
		r := newRig(t)
		r.picture(1, "g")
		r.picture(2, "g")
		r.run(t)
		r.Took(t, 1)
		r.settled(t)
		r.deafAfter(2)
		r.picture(3, "g")
		r.Took(t, 2)
		_ = r.Ended(t)
		r.Mend()
		r.again(t, again)
		if events := r.Sink.Events(); len(events) != 2 || filesOf(events[1].Message) != "p1 p2 p3" {
			t.Errorf("in another process %t: %+v", again, events)
		}
	}
}

func TestPictureDeliveredTwiceIsInItsAlbumOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.picture(1, "g")
	r.picture(2, "g")
	r.Repeat(1)
	r.run(t)
	r.Took(t, 1)
	r.settled(t)
	r.picture(2, "g")
	r.settled(t)
	if events := r.Sink.Events(); len(events) != 1 || filesOf(events[0].Message) != "p1 p2" {
		t.Errorf("%+v", events)
	}
}

// brittle is a sink that breaks, before or after it took what it is handed.
type brittle struct {
	*channelstest.Sink
	left int // batches until then
	late bool
	end  func()
}

func (b *brittle) Accept(ctx context.Context, batch []channels.Event) ([]channels.Receipt, error) {
	if b.left--; b.left >= 0 {
		return b.Sink.Accept(ctx, batch)
	}
	if b.late {
		_, _ = b.Sink.Accept(ctx, batch)
	}
	b.end()
	return nil, errors.New("broken")
}

// What edits did is not undone by an album that is told again after a crash.
func TestAlbumDeliveredAgainKeepsItsEdits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.picture(1, "g")
	r.picture(2, "g")
	for _, caption := range []string{"old", "new"} {
		r.Inject(`{"update_id":UPDATE_ID,"edited_message":` + pictureBody(r.ada.ID, 2, "g", caption, 5) + `}`)
	}
	r.deafAfter(1)
	r.run(t)
	r.Took(t, 3)
	_ = r.Halt(t)
	r.Mend()
	r.again(t, true)
	shown := shownAt(r.Sink.Events())
	if len(shown) != 1 || shown["1"].Text != "new" || filesOf(shown["1"]) != "p1 p2" {
		t.Errorf("what is shown is %+v", shown)
	}
}

// However albums grow, are edited and are told again over lost connections and
// crashes: no picture and no edit is lost, and no message shows one twice.
func TestAlbumsLoseNothingOverCrashes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(600) {
		if !albumsOverCrashes(t, seed, rand.New(rand.NewPCG(seed, 1))) {
			return
		}
	}
}

func albumsOverCrashes(t *testing.T, seed uint64, rnd *rand.Rand) bool {
	const chat = 10
	type told struct {
		id  int64
		raw string
	}
	var queue []told
	var crashes, pictures int
	crashing := seed%2 == 0 // else pictures are edited; an edit in an album of an earlier process is that picture's alone
	captions := map[int]string{}
	next := int64(100)
	tell := func(raw string) {
		next += 1 + rnd.Int64N(2)
		queue = append(queue, told{next, strings.ReplaceAll(raw, "UPDATE_ID", fmt.Sprint(next))})
	}
	happens := func() {
		switch n := rnd.IntN(6); {
		case n < 3 && pictures < 5:
			pictures++
			captions[pictures] = fmt.Sprintf("c%d.0;", pictures)
			tell(pictureOf(chat, pictures, "g", captions[pictures]))
		case n == 3 && pictures > 0 && !crashing:
			i := 1 + rnd.IntN(pictures)
			captions[i] = fmt.Sprintf("c%d.%d;", i, next)
			tell(`{"update_id":UPDATE_ID,"edited_message":` + pictureBody(chat, i, "g", captions[i], next) + `}`)
		case n == 4:
			tell(fmt.Sprintf(`{"update_id":UPDATE_ID,"message":{"message_id":%d,"date":1,"text":"x","from":{"id":20},"chat":{"id":20,"type":"private"}}}`, 1000+next))
		case n == 5 && len(queue) > 0:
			again := queue[len(queue)-1]
			if !strings.Contains(again.raw, "edited_message") {
				tell(strings.Replace(again.raw, fmt.Sprint(again.id), "UPDATE_ID", 1))
			}
		}
	}
	sink := channelstest.NewSink()
	var c *Client
	process := func() {
		c = New("tg", Config{Token: channelstest.Literal("1:x"), Mode: ModePolling}, slog.New(slog.DiscardHandler))
		c.pace = pace{}
	}
	process()
	// run lives for so many polls at most; confirm says how many confirmations arrive.
	run := func(polls, accepts int, late bool) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		read := reader{channel: "tg", me: self{id: 1}, bot: "1"}
		p := &poller{c: c, s: &session{sink: &brittle{sink, accepts, late, end}}, gather: gatherer{pace: c.pace}}
		for range polls {
			var updates []update
			for _, q := range queue {
				updates = append(updates, read.decode([]byte(q.raw)))
			}
			last, err := p.settle(ctx, updates, false)
			if err != nil || rnd.IntN(5) == 0 { // cut before the next poll confirms
				return
			}
			queue = slices.DeleteFunc(queue, func(q told) bool { return q.id <= last })
			if rnd.IntN(2) == 0 {
				happens()
			}
		}
	}
	for range 12 {
		happens()
		run(rnd.IntN(4), rnd.IntN(4), rnd.IntN(2) == 0)
		if crashing && rnd.IntN(3) == 0 {
			crashes++
			process()
		}
	}
	for range 200 {
		if run(3, 1000, false); len(queue) == 0 {
			break
		}
	}
	shown := shownAt(sink.Events())
	var albumMessages int
	var text string
	count := map[string]int{}
	for id, m := range shown {
		if len(m.Attachments) == 0 {
			continue
		}
		albumMessages++
		text += m.Text
		seen := map[string]bool{}
		for _, a := range m.Attachments {
			if seen[a.ID] {
				t.Errorf("seed %d: message %s shows %s twice", seed, id, a.ID)
			}
			seen[a.ID] = true
			count[a.ID]++
		}
	}
	for n, caption := range captions {
		if count[fmt.Sprintf("p%d", n)] == 0 {
			t.Errorf("seed %d: picture %d is lost", seed, n)
		}
		if !strings.Contains(text, caption) {
			t.Errorf("seed %d: the newest caption of picture %d, %s, is not in %q", seed, n, caption, text)
		}
	}
	if albumMessages > 1+crashes {
		t.Errorf("seed %d: an album became %d messages in %d crashes", seed, albumMessages, crashes)
	}
	if len(queue) > 0 {
		t.Errorf("seed %d: %d updates are never confirmed", seed, len(queue))
	}
	if t.Failed() {
		for _, e := range sink.Events() {
			t.Logf("%s %s %s: %q %s", e.Kind, e.Key, e.Message.ID, e.Message.Text, filesOf(e.Message))
		}
	}
	return !t.Failed()
}
