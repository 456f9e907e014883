package telegram

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"switchboard/channels/wire"
)

func FuzzUpdate(f *testing.F) {
	files, _ := filepath.Glob("testdata/updates/*.json")
	for _, file := range files {
		if raw, err := os.ReadFile(file); err == nil {
			f.Add(raw)
		}
	}
	c := knowing()
	f.Fuzz(func(t *testing.T, raw []byte) {
		u := c.reader().decode(raw)
		again := c.reader().decode(raw)
		if (u.event == nil) != (again.event == nil) || u.event != nil && u.event.Key != again.event.Key {
			t.Fatalf("twice %+v and %+v", u.event, again.event)
		}
		e := u.event
		if e == nil {
			return
		}
		if e.Key == "" || e.Kind == "" || e.Conversation.Channel != "tg" {
			t.Fatalf("incomplete: %+v", e)
		}
		if e.Raw == nil && (e.Conversation.ID == "" || strings.ContainsRune(e.Message.Text, 0) || !utf8.ValidString(e.Message.Text)) {
			t.Fatalf("%+v", e)
		}
	})
}

// Whatever comes, cutting does not panic and loses no update that is JSON.
func FuzzSplitUpdates(f *testing.F) {
	f.Add([]byte(`{"update_id":1,"message":{"text":"a\"]}"}}`), []byte(`{"update_id":2`))
	f.Add([]byte(`{"update_id":1}`), []byte("{\"update_id\":2,\"x\":\"\x00\"}"))
	f.Fuzz(func(t *testing.T, good, bad []byte) {
		_, _, _ = splitUpdates(&exchange{Exchange: wire.Exchange{Body: bad}})
		if !json.Valid(good) || !bytes.HasPrefix(good, []byte(`{"update_id"`)) || bytes.Contains(bad, []byte("update_id")) {
			return
		}
		body := bytes.Join([][]byte{[]byte(`{"ok":true,"result":[{"update_id":1,"bad":`), bad, []byte(`},`), good, []byte(`]}`)}, nil)
		x := &exchange{Exchange: wire.Exchange{Status: http.StatusOK, Body: body}}
		x.read()
		raws, _, err := splitUpdates(x)
		if err != nil {
			return
		}
		for _, raw := range raws {
			if bytes.Contains(raw, bytes.TrimSpace(good)) {
				return
			}
		}
		if !bytes.Contains(bad, []byte("]")) && !bytes.Contains(bad, []byte(`"`)) {
			t.Fatalf("%q is not in %q", good, raws)
		}
	})
}

func FuzzSpan(f *testing.F) {
	f.Add("a😀b", 1, 2)
	f.Add("é\xff😀", 0, 4)
	f.Fuzz(func(t *testing.T, text string, offset, length int) {
		from, to, ok := span(text, offset, length)
		units := utf16.Encode([]rune(text))
		if !ok {
			return
		}
		if from < 0 || to < from || to > len(text) || offset+length > len(units) {
			t.Fatalf("%d..%d of %q", from, to, text)
		}
		if got, want := string([]rune(text[from:to])), string(utf16.Decode(units[offset:offset+length])); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}
