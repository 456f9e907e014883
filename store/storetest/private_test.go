package storetest_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"switchboard/store/storetest"
)

// A server that is broken in each way answers again, at the same address, with what
// was committed.
func TestServerIsBrokenAndMended(t *testing.T) {
	t.Parallel()
	s := storetest.NewServer(t)
	proxy := storetest.NewProxy(t, s.Addr())
	s.Do("CREATE TABLE kept (n int)")
	count := func(address string, within time.Duration) (n int, err error) {
		seconds := max(1, int(within.Seconds())) // the driver asks no context before a connection is made
		db, err := sql.Open("postgres", fmt.Sprintf("%s&connect_timeout=%d", address, seconds))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		ctx, stop := context.WithTimeout(t.Context(), within)
		defer stop()
		err = db.QueryRowContext(ctx, "SELECT count(*) FROM kept").Scan(&n)
		return n, err
	}
	ways := []struct {
		name        string
		breaks, fix func()
		address     string
	}{
		{"stop", s.Stop, s.Start, s.URL()},
		{"kill", s.Kill, s.Start, s.URL()},
		{"freeze", s.Freeze, s.Thaw, s.URL()},
		{"stall", proxy.Stall, proxy.Flow, s.URLAt(proxy.Addr())},
	}
	for i, way := range ways {
		s.Do("INSERT INTO kept VALUES (1)")
		way.breaks()
		if n, err := count(way.address, 300*time.Millisecond); err == nil {
			t.Errorf("%s: it answers %d", way.name, n)
		}
		way.fix()
		if n, err := count(way.address, 20*time.Second); err != nil || n != i+1 {
			t.Errorf("after %s: %d rows, want %d; %v", way.name, n, i+1, err)
		}
	}
}

func TestProxyCutsConnections(t *testing.T) {
	t.Parallel()
	s := storetest.NewServer(t)
	proxy := storetest.NewProxy(t, s.Addr())
	db, err := sql.Open("postgres", s.URLAt(proxy.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	proxy.Cut()
	if err := conn.PingContext(t.Context()); err == nil {
		t.Error("a cut connection answers")
	}
	if err := db.PingContext(t.Context()); err != nil {
		t.Errorf("a new connection: %v", err)
	}
	proxy.Strand()
	other, err := sql.Open("postgres", s.URLAt(proxy.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.PingContext(t.Context()); err != nil {
		t.Errorf("a connection made after others were stranded: %v", err)
	}
}
