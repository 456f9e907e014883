//go:build linux

package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// followed reads the events of a session over a WebSocket until one of them has a text, or the socket ends. It returns their numbers,
// which have to go on from after.
func followed(t *testing.T, conn *websocket.Conn, after int64, until string) (last int64, texts []string) {
	t.Helper()
	for last = after; ; {
		var m struct {
			Method string
			Params struct {
				ID   int64
				Data struct{ Direction, Text string }
			}
		}
		_ = conn.SetReadDeadline(time.Now().Add(programtest.Patience))
		_, text, err := conn.ReadMessage()
		if err != nil {
			return last, texts
		}
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if m.Method != "event" || m.Params.ID == 0 {
			continue
		}
		if m.Params.ID != last+1 {
			t.Errorf("after event %d comes %s", last, text)
		}
		last = m.Params.ID
		if m.Params.Data.Direction == "out" {
			texts = append(texts, m.Params.Data.Text)
		}
		if until != "" && m.Params.Data.Direction == "out" && m.Params.Data.Text == until {
			return last, texts
		}
	}
}

// Who follows a session over a WebSocket, and comes back with the number of the last event, has each event once, though the
// program was killed meanwhile.
func TestWebSocketFollowsAcrossAKill(t *testing.T) {
	t.Parallel()
	address := testkit.FreeAddress(t)
	rig := programtest.NewRig(t, nil, "[agent]\nplanner = \"fake/model\"\n[server]\nlisten = \""+address+"\"\n"+programtest.Token("ci", []string{"messages", "read"}, "ada")+ada)
	rig.Model.Handle(programtest.Clerk)
	rig.Ready()
	open := func(after int64) *websocket.Conn {
		t.Helper()
		conn, _, err := websocket.DefaultDialer.Dial(fmt.Sprintf("ws://%s/v1/ws?session=s&after=%d", address, after), http.Header{"Authorization": {"Bearer ci"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	post := func(conn *websocket.Conn, text string) {
		t.Helper()
		err := conn.WriteJSON(map[string]any{"jsonrpc": "2.0", "id": text, "method": "postMessage", "params": map[string]string{"session": "s", "user": "ada", "content": text, "Idempotency-Key": text}})
		if err != nil {
			t.Fatal(err)
		}
	}
	conn := open(0)
	post(conn, "one")
	last, said := followed(t, conn, 0, "heard: one")
	post(conn, "two")
	rig.Await("the message is there", 20*time.Second, func() bool { return len(rig.Turns()) == 2 })
	rig.Kill()
	last, more := followed(t, conn, last, "")
	said = append(said, more...)
	rig.Start()
	rig.Await("it is up again", 20*time.Second, func() bool {
		status, _, err := programtest.Web{Address: address, Token: "ci"}.Do(t.Context(), http.MethodGet, "/v1/whoami", nil)
		return err == nil && status == http.StatusOK
	})
	conn = open(last)
	post(conn, "two") // its answer may not have come; the key makes it the same message
	if !slices.Contains(said, "heard: two") {
		last, more = followed(t, conn, last, "heard: two")
		said = append(said, more...)
	}
	post(conn, "three")
	last, more = followed(t, conn, last, "heard: three")
	if said = append(said, more...); strings.Join(said, ", ") != "heard: one, heard: two, heard: three" {
		t.Errorf("up to event %d it said %q", last, said)
	}
	stopped := make(chan error, 1)
	go func() {
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				stopped <- err
				return
			}
		}
	}()
	rig.Stop(20 * time.Second)
	if err := <-stopped; !websocket.IsCloseError(err, websocket.CloseGoingAway) {
		t.Errorf("the end of the engine is %v", err)
	}
}
