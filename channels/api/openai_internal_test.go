package api

import (
	"fmt"
	"strings"
	"testing"

	"switchboard/router/sessions"
)

// lines are a conversation in short: "u:one a:two".
func lines(text string) (list []sessions.Line) {
	for i, word := range strings.Fields(text) {
		who, said, _ := strings.Cut(word, ":")
		list = append(list, sessions.Line{ID: int64(i + 1), Out: who == "a", Text: strings.ReplaceAll(said, "_", " ")})
	}
	return list
}

func TestConversationsAreCompared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, asked, ours string
		n                 int
		same              bool
	}{
		{"the same", "u:1 a:2 u:3 a:4", "u:1 a:2 u:3 a:4", 2, true},
		{"nothing of something", "", "u:1 a:2", 0, true},
		{"something of nothing", "u:1 a:2", "", 0, false},
		{"the client left the beginning out", "u:3 a:4", "u:1 a:2 u:3 a:4", 1, true},
		{"regenerated", "u:1 a:2", "u:1 a:2 u:3 a:4", 1, false},
		{"edited", "u:1 a:2 u:x", "u:1 a:2 u:3 a:4", 1, false},
		{"another answer", "u:1 a:x", "u:1 a:2", 0, false},
		{"we said more by ourselves", "u:1 a:2", "u:1 a:2 a:reminder", 1, true},
		{"we said it in two messages", "u:1 a:2_3", "u:1 a:2 a:3", 1, true},
		{"the client heard a part of it", "u:1 a:ab", "u:1 a:abcd", 1, true},
		{"the client heard nothing", "u:1 u:3 a:4", "u:1 a:2 u:3 a:4", 2, true},
		{"with thoughts", `u:1 a:<details_type="reasoning">hm</details>2`, "u:1 a:2", 1, true},
	} {
		n, same := common(exchanges(lines(c.asked)), exchanges(lines(c.ours)))
		if n != c.n || same != c.same {
			t.Errorf("%s: %d, %v; want %d, %v", c.what, n, same, c.n, c.same)
		}
	}
}

func TestNamesOfOthersBecomeSessions(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"3f2b-chat.1": "3f2b-chat.1", "local:x": "chat-", "me@home": "chat-", strings.Repeat("x", 200): "chat-", "a/../b": "chat-",
	} {
		if got := plainName(name); !strings.HasPrefix(got, want) || len(got) > 128 {
			t.Errorf("%q becomes %q", name, got)
		}
	}
}

// Whatever comes, it is read or refused, and what is read has a text or a picture.
func FuzzReadChat(f *testing.F) {
	for _, seed := range []string{
		`{"model":"switchboard","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":null},{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]}`,
		`{"model":"switchboard-plain","messages":[{"role":"user","content":"### Task:\n<chat_history>"}],"stream":true,"stream_options":{"include_usage":true},"n":1,"tools":[]}`,
		`{"messages":{}}`, `[]`, `null`, `{"model":"switchboard","messages":[{"role":"user","content":{}}],"n":"1"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := readChat(text)
		if err != nil {
			return
		}
		if strings.TrimSpace(c.text) == "" && len(c.images) == 0 || len(c.text) > maxContent || c.Model == "" {
			t.Errorf("read %+v", c)
		}
		list := exchanges(c.earlier)
		if n, same := common(list, list); n != len(list) || !same {
			t.Error(fmt.Sprint("it differs from itself: ", n, same))
		}
		c.transcript()
	})
}

// A text that grows is sent once, whatever becomes of it.
func TestRepliesTakeNothingBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, want string
		grown      []string
		whole      []string // of messages; the first one grew
	}{
		{"it grows", "abc", []string{"a", "ab"}, []string{"abc"}},
		{"space behind it", "a b", []string{" a ", "a b\n"}, []string{"a b"}},
		{"it begins again, and ends alike", "abc", []string{"ab", ""}, []string{"abc"}},
		{"it ends otherwise", "ab\n\nxyz", []string{"ab", "x"}, []string{"xyz"}},
		{"another follows", "a\n\nb", []string{"a"}, []string{"a", "b"}},
	} {
		r := &reply{}
		for _, text := range c.grown {
			if err := r.grow(text); err != nil {
				t.Fatal(err)
			}
		}
		for _, text := range c.whole {
			if err := r.end(text); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.content.String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
