package router_test

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/router"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
	"switchboard/store"
	"switchboard/store/database"
	"switchboard/store/storetest"
)

// The holder is cut off from the database, and not from the platform: it ends its
// connection before its lease can go to another engine, and has it again only when it
// holds the channel again.
func TestHolderThatIsCutOffLetsGoOfThePlatform(t *testing.T) {
	t.Parallel()
	s := storetest.NewServer(t)
	proxy := storetest.NewProxy(t, s.Addr())
	open := func(url string) *rig {
		db, err := store.Open(t.Context(), database.Config{URL: secrets.Secret(url)}, "", slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return newRig(t, db)
	}
	a, b := open(s.URLAt(proxy.Addr())), open(s.URL())
	b.Platform = a.Platform
	routertest.StartBoth(a.Rig, b.Rig)
	raw, err := sql.Open("postgres", s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	// Owners of a server that was just started do not expire.
	if _, err := raw.ExecContext(t.Context(), "CREATE OR REPLACE FUNCTION sb_started() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT CAST(0 AS bigint)'"); err != nil {
		t.Fatal(err)
	}
	proxy.Stall()
	began := time.Now()
	b.Until("the other engine is connected", b.Connected)
	t.Logf("after %s", time.Since(began).Round(time.Millisecond))
	for range 20 {
		if a.Connected() {
			t.Fatalf("two engines have one channel's connection: %+v", a.Router.Connections.Statuses()[0])
		}
		time.Sleep(50 * time.Millisecond)
	}
	if st := a.Router.Connections.Statuses()[0]; st.State != channels.StateWaiting || !strings.Contains(st.Reason, "the database cannot be reached") {
		t.Errorf("the former holder says %+v", st)
	}
	a.Platform.Say("c1", "ada", "hello")
	a.Await(1)
	proxy.Flow()
	a.Until("it learns who holds the channel", func() bool {
		return strings.Contains(a.Router.Connections.Statuses()[0].Reason, "another engine holds")
	})
}

// A connection outlives a hiccup of the database. When the lease was in doubt, it is
// made again only after the database said that the lease is still there.
func TestConnectionIsMadeAnewUnderTheSameLease(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var unsafe, away atomic.Bool
		var mu sync.Mutex
		ending, end := context.WithCancelCause(t.Context())
		r.Safe = func() bool { return !unsafe.Load() }
		r.Guard = func(ctx context.Context) (context.Context, context.CancelFunc) {
			mu.Lock()
			defer mu.Unlock()
			of := ending
			guarded, cancel := context.WithCancelCause(ctx)
			if unsafe.Load() {
				cancel(tools.ErrUnsafe)
			}
			stop := context.AfterFunc(of, func() { cancel(context.Cause(of)) })
			return guarded, func() { stop(); cancel(nil) }
		}
		r.Store = func(l router.Store) router.Store { return sickLedger{l, &away} }
		r.Start()
		r.Until("connected", r.Connected)
		since := r.Router.Connections.Statuses()[0].Since
		away.Store(true) // the looks fail, and the lease is in no doubt
		time.Sleep(300 * time.Millisecond)
		if st := r.Router.Connections.Statuses()[0]; st.State != channels.StateConnected || !st.Since.Equal(since) {
			t.Fatalf("it was torn for a hiccup: %+v", st)
		}
		unsafe.Store(true)
		end(tools.ErrUnsafe)
		r.Until("it lets go", func() bool { return r.Router.Connections.Statuses()[0].State == channels.StateWaiting })
		mu.Lock()
		ending, end = context.WithCancelCause(t.Context())
		mu.Unlock()
		unsafe.Store(false)
		time.Sleep(1500 * time.Millisecond)
		if st := r.Router.Connections.Statuses()[0]; st.State != channels.StateWaiting {
			t.Fatalf("it connects before the database said that the lease is there: %+v", st)
		}
		away.Store(false)
		r.Until("connected again", r.Connected)
		r.Platform.Say("c1", "ada", "hello")
		r.Await(1)
		end(nil)
	})
}

// A sickLedger does not say what is open while it is sick.
type sickLedger struct {
	router.Store
	sick *atomic.Bool
}

func (l sickLedger) Open(ctx context.Context, hold outbox.Lease) ([]channels.Conversation, error) {
	if l.sick.Load() {
		return nil, context.DeadlineExceeded
	}
	return l.Store.Open(ctx, hold)
}
