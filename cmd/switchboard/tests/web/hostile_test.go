//go:build linux

package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
)

// ada may write; the token ci speaks for her.
const ada = "[[people]]\nname = \"ada\"\nrole = \"user\"\nidentities = [\"scripted:ada\"]\ntools = []\n"

// Connections that send slowly, or too much, are ended, and slow nobody else.
func TestSlowAndHugeCallsAreEnded(t *testing.T) {
	t.Parallel()
	rig := programtest.NewRig(t, nil, programtest.Token("ci", []string{"messages", "read"}, "ada")+programtest.Token("slow", []string{"messages"})+ada)
	rig.Up()
	w := rig.Web("ci")
	send := func(text string) net.Conn {
		conn, err := net.Dial("tcp", w.Address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_, _ = io.WriteString(conn, text) // it may be refused before it is all sent
		return conn
	}
	answer := func(conn net.Conn, within time.Duration) string {
		_ = conn.SetReadDeadline(time.Now().Add(within))
		text, err := io.ReadAll(bufio.NewReader(conn))
		if err != nil && len(text) == 0 {
			return err.Error()
		}
		return string(text)
	}
	var slow sync.WaitGroup
	for i := range 100 {
		head := send("GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\n")
		body := send("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer slow\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		slow.Go(func() {
			if got := answer(head, programtest.Patience); strings.Contains(got, "timeout") || strings.Contains(got, "200 OK") {
				t.Errorf("slow headers %d: %s", i, got)
			}
			if got := answer(body, programtest.Patience); strings.Contains(got, "timeout: ") || strings.Contains(got, "202 Accepted") {
				t.Errorf("slow body %d: %s", i, got)
			}
		})
	}
	for i := range 20 {
		w.Call(t, http.MethodPost, "/v1/messages", map[string]any{"session": "s", "user": "ada", "content": fmt.Sprint("hello ", i)}, http.StatusAccepted, nil)
	}
	if got := answer(send("GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nX-Long: "+strings.Repeat("x", 100_000)+"\r\n\r\n"), programtest.Patience); !strings.Contains(got, "431") {
		t.Errorf("huge headers: %.200s", got)
	}
	if got := answer(send("GARBAGE\r\n\r\n"), programtest.Patience); !strings.Contains(got, "400") {
		t.Errorf("no HTTP: %.200s", got)
	}
	if got := answer(send("GET /v1/sessions HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer ci\r\nConnection: close\r\n\r\n"), programtest.Patience); !strings.Contains(got, "403") {
		t.Errorf("another's name: %.200s", got)
	}
	slow.Wait()
	rig.Stop(20 * time.Second)
	if rig.Log.Has(`"token":"ci","method":"POST","path":"/v1/messages","status":202`) == false || rig.Log.Has("Bearer ci") {
		t.Error("calls are not logged by the name of their token alone")
	}
}
