package engines_test

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"switchboard/internal/secrets"
	"switchboard/internal/testkit"
	"switchboard/store"
	"switchboard/store/database"
	"switchboard/store/storetest"
)

// A server that speaks no TLS, under the sslmode that nobody chose: no connection is
// left open that was refused, neither here nor for the server to wait for.
func TestRefusedTLSIsClosed(t *testing.T) {
	t.Parallel()
	s, dir := storetest.NewServer(t), t.TempDir()
	url := strings.Replace(s.URLAt(s.Addr()), "?sslmode=disable", "", 1)
	for _, mode := range []string{"", "allow"} {
		t.Run("sslmode "+mode, func(t *testing.T) {
			url := url
			if mode != "" {
				url += "?sslmode=" + mode
			}
			a := newHouse(t, opened(t, url, dir, quiet))
			listening(t, a.DB, a.owner())
			a.runs()
			for range 3 {
				closedBut(t, s)
				begun := time.Now()
				s.Stop()
				testkit.Within(t, time.Since(begun), 30*time.Second) // the server waits for a connection left open a minute
				time.Sleep(300 * time.Millisecond)                   // it is asked for in vain
				s.Start()
				wait(t, "the engine is back", a.Engine.Safe)
			}
			closedBut(t, s)
		})
	}
}

// closedBut waits until the sockets of this process to the server are those of the
// connections that the server knows.
func closedBut(t *testing.T, s *storetest.Server) {
	t.Helper()
	db, err := store.Open(t.Context(), database.Config{URL: secrets.Secret(s.URL())}, t.TempDir(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		known, err := count(t.Context(), db, `SELECT count(*) FROM pg_stat_activity WHERE client_port > 0`)
		if err != nil {
			t.Fatal(err)
		}
		open := socketsTo(t, s.Addr())
		if open == int(known) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d sockets to the server are open, which knows of %d connections", open, known)
		}
	}
}

// socketsTo counts the sockets of this machine that somebody has open to addr.
func socketsTo(t *testing.T, addr string) (n int) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Skip(err)
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	number, _ := strconv.Atoi(port)
	to := fmt.Sprintf("0100007F:%04X", number)
	for line := range strings.Lines(string(table)) {
		// sl local remote state …: 01 is established. What a pool keeps of an ended server
		// until somebody wants it is none.
		if f := strings.Fields(line); len(f) > 3 && f[2] == to && f[3] == "01" {
			n++
		}
	}
	return n
}
