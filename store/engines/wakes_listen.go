package engines

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/lib/pq"

	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/store/database"
)

// listenAsk is how often a listener asks whether its connection lives.
const listenAsk = 10 * time.Second

// listen collects what other engines send until ctx ends. After each connect it says
// "everything": nobody keeps what is sent meanwhile.
func (w *wakes) listen(ctx context.Context, received *wakeSet) {
	channel, ok := w.channel(ctx)
	if !ok {
		return
	}
	l, end, err := w.db.Listener(ctx, renewEvery, 50*time.Millisecond, wakeRetry/2)
	if err != nil {
		return // the same address was good when the database was opened
	}
	defer end()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var asking sync.WaitGroup
	defer asking.Wait()
	asking.Go(func() { ask(ctx, l) })
	all := core.Wake{Kind: core.WakeAll}
	// Beside the reading, without which the listener does not connect again.
	asking.Go(func() {
		if w.begin(ctx, l, channel) {
			received.add(all)
		}
	})
	for n := range l.Notify {
		var note wakeNote
		switch {
		case n == nil: // connected again
			received.add(all)
		case json.Unmarshal([]byte(n.Extra), &note) != nil:
			received.add(all)
		case note.From != w.owner:
			received.add(note.Wakes...)
		}
	}
}

// begin listens, however often the server refuses; what was begun the listener goes on with
// by itself. ok is false when ctx ended.
func (w *wakes) begin(ctx context.Context, l *pq.Listener, channel string) (ok bool) {
	for warned := false; ; warned = true {
		err := l.Listen(channel)
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		if !warned {
			w.db.Log.WarnContext(ctx, "what other engines tell is not heard, and found a little later; it is tried again", "error", err)
		}
		if !retry.Sleep(ctx, wakeRetry) {
			return false
		}
	}
}

// ask makes the listener find out that its connection is dead: it has no answer to
// wait for otherwise.
func ask(ctx context.Context, l *pq.Listener) {
	for retry.Sleep(ctx, listenAsk) {
		_ = l.Ping()
	}
}

// channel asks for the name to listen to, however long the database is away; false:
// ctx ended.
func (w *wakes) channel(ctx context.Context) (channel string, ok bool) {
	for {
		if channel, err := database.Value[string](ctx, w.db, "listen", wakeChannel); err == nil {
			return channel, true
		}
		if !retry.Sleep(ctx, wakeRetry) {
			return "", false
		}
	}
}
