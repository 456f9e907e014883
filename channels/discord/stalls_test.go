package discord

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/discord/discordtest"
	"switchboard/channels/platformtest"
)

// A conversation whose history cannot be read, and that events wait for, keeps what was missed in
// others from nobody.
func TestUnreadableHistoryKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bob := r.AddUser("Bob")
	r.run(t)
	r.Say(bob.ID, "bob 1")
	r.Took(t, 1)
	r.Say(r.ada.ID, "ada 1") // the newest mark: it is read first
	r.Took(t, 2)
	r.halt(t)
	r.Say(bob.ID, "bob 2")
	r.Forget()
	r.c = client(t, r.APIURL(), r.Token())
	bad := r.Direct(r.ada.ID).ID
	r.Break(discordtest.Fault{
		Method: discordtest.GetMessages, Times: -1, Delay: 300 * time.Millisecond, Status: 502, Body: "<html>",
		When: func(c platformtest.Call) bool { return c.Values["channel"] == bad },
	})
	r.run(t)
	r.Say(r.ada.ID, "ada 2")
	r.Took(t, 3)
	if got := r.Sink.Texts()[2]; got != "bob 2" {
		t.Errorf("%q came", got)
	}
}

// A gateway that answers heartbeats and never tells the session is left.
func TestGatewayThatBeginsNoSessionIsLeft(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	mux.HandleFunc("/gateway/bot", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"url":"ws%s/ws","shards":1,"session_start_limit":{"remaining":10}}`, strings.TrimPrefix(server.URL, "http"))
	})
	mux.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		for err = ws.WriteMessage(websocket.TextMessage, []byte(`{"op":10,"d":{"heartbeat_interval":41000}}`)); err == nil; {
			if _, _, err = ws.ReadMessage(); err == nil {
				err = ws.WriteMessage(websocket.TextMessage, []byte(`{"op":11}`))
			}
		}
	})
	run := channelstest.NewRunning()
	c := client(t, server.URL, "MTIzNDU2Nzg5MDEyMzQ1Njc4.x.abcdefghijkl")
	c.pace.hello = 2 * time.Second
	run.Start(t, c.Run)
	if err := run.Ended(t); !errors.Is(err, errUnbegun) {
		t.Errorf("Run returned %v", err)
	}
}

// Where the platform does not say what a channel is, what names the bot there comes at once and the rest after a while,
// and it keeps no others waiting.
func TestPlaceThatCannotBeAskedAboutStopsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.SayIn(r.general, r.ada.ID, "one")
	r.Took(t, 1)
	r.halt(t)
	r.c = client(t, r.APIURL(), r.Token()) // it resumes the session, and was told of no channels
	r.c.pace.history = 3 * time.Second
	r.Break(discordtest.Fault{Method: discordtest.GetChannel, Times: -1, Status: 502, Body: "<html>"})
	r.again(t)
	r.SayIn(r.general, r.ada.ID, "<@"+r.Bot().ID+"> two")
	r.SayIn(r.general, r.ada.ID, "three")
	r.Say(r.ada.ID, "direct")
	r.SayIn(r.general, r.ada.ID, "four")
	events := r.Took(t, 5)
	if diff := cmp.Diff([]string{"one", "two", "direct", "three", "four"}, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
	if got := events[3].Conversation; string(got.ID) != r.general || got.Kind != channels.Group {
		t.Errorf("%+v", got)
	}
	if r.Resumes() != 1 {
		t.Errorf("%d connections", r.Resumes())
	}
}
