package discordtest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"switchboard/channels/discord/discordtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// library is the real library on the server, with its own loop left alone.
func library(t *testing.T, s *discordtest.Server) *discordgo.Session {
	t.Helper()
	lib, err := discordgo.New("Bot " + s.Token())
	if err != nil {
		t.Fatal(err)
	}
	lib.MaxRestRetries, lib.ShouldRetryOnRateLimit = 0, false
	t.Cleanup(lib.Client.CloseIdleConnections)
	return lib
}

// call makes one call by the library and reads the answer into v.
func call(t *testing.T, s *discordtest.Server, lib *discordgo.Session, method, path string, body, v any) error {
	t.Helper()
	data, err := lib.RequestWithBucketID(method, s.APIURL()+path, body, path)
	if err == nil && v != nil {
		if err := json.Unmarshal(data, v); err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return err
}

// code is the code of an error answer; 0: none.
func code(err error) int {
	if e, ok := err.(*discordgo.RESTError); ok && e.Message != nil { //nolint:errorlint // as the library returns it
		return e.Message.Code
	}
	return 0
}

// A bot speaks the gateway frame by frame.
type bot struct {
	t  *testing.T
	ws *websocket.Conn
}

type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int            `json:"s"`
	Type string          `json:"t"`
}

func connect(t *testing.T, s *discordtest.Server) *bot {
	t.Helper()
	ws, resp, err := websocket.DefaultDialer.Dial(strings.Replace(s.URL(), "http", "ws", 1)+"/gateway?v=10&encoding=json", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	t.Cleanup(func() { ws.Close() })
	b := &bot{t, ws}
	if f := b.next(); f.Op != 10 {
		t.Fatalf("the gateway begins with %+v", f)
	}
	return b
}

// next is the next frame.
func (b *bot) next() (f frame) {
	b.t.Helper()
	_ = b.ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	if err := b.ws.ReadJSON(&f); err != nil {
		b.t.Fatal(err)
	}
	return f
}

// until reads to the next frame of this type.
func (b *bot) until(kind string) frame {
	b.t.Helper()
	for {
		if f := b.next(); f.Type == kind {
			return f
		}
	}
}

// closed reads to the end and returns the close code.
func (b *bot) closed() int {
	b.t.Helper()
	_ = b.ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	for {
		if _, _, err := b.ws.ReadMessage(); err != nil {
			e, ok := err.(*websocket.CloseError) //nolint:errorlint // as the library returns it
			if !ok {
				b.t.Fatal(err)
			}
			return e.Code
		}
	}
}

func (b *bot) say(op int, data any) {
	b.t.Helper()
	if err := b.ws.WriteJSON(map[string]any{"op": op, "d": data}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bot) identify(s *discordtest.Server, intents int) {
	b.t.Helper()
	b.say(2, map[string]any{"token": s.Token(), "intents": intents, "properties": map[string]string{}})
}

const everything = 1<<0 | 1<<9 | 1<<10 | 1<<12 | 1<<13 | 1<<15
