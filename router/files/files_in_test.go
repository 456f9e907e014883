package files_test

import (
	"fmt"
	"strings"
	"testing"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router"
	"switchboard/router/routertest"
)

func TestAttachmentsComeIn(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Limits = router.FileLimits{MaxSize: 1 << 20, MaxPerMessage: 2}
		r.Start()
		n := 0
		send := func(text string, files ...channels.Attachment) string {
			n++
			id := fmt.Sprintf("m-%d", n)
			conv := "c-" + id
			for i := range files {
				files[i].ID = fmt.Sprintf("f%d-%d", n, i)
			}
			r.Platform.Write(scripted.Message{ID: id, Conversation: conv, User: "ada", Text: text, Attachments: files})
			r.Settle()
			return strings.Join(routertest.Texts(r.Platform.SentIn(conv)), "|")
		}
		doc := channels.Attachment{Kind: channels.Document, Name: "a.txt", Size: 3}
		large := channels.Attachment{Kind: channels.Document, Name: "big.iso", Size: 2 << 20}
		voice := channels.Attachment{Kind: channels.Voice, Size: 3}
		for _, c := range []struct{ what, got, want string }{
			{"voice alone", send("", voice), "cannot listen"},
			{"voice with text", send("hear", voice), "re: hear"},
			{"a file alone", send("", doc), "re:"},
			{"too large with text", send("see", large, doc), "up to 1 MB. These are larger, so I left them out: big.iso.|re: see"},
			{"too many", send("see", doc, doc, doc, doc), "up to 2 files with one message; left out: the last 2.|re: see"},
			{"nothing is left", send("", large), "so I left them out: big.iso."},
			{"a stop word with a file", send("stop", doc), "re: stop"},
		} {
			if !strings.Contains(c.got, c.want) {
				t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
			}
		}
		if list := r.Turns(); len(list) != 5 {
			t.Errorf("%d turns", len(list))
		}
	})
}

// A stop word stops, unless a file comes with it.
func TestStopWordWithAFileStopsNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		release := r.Brain.Held("long")
		r.Start()
		r.Begins("c1", "ada", "long")
		r.Platform.Write(scripted.Message{
			Conversation: "c1", User: "ada", Text: "stop", Attachments: []channels.Attachment{{ID: "f", Kind: channels.Document}},
		})
		r.Until("it is taken", func() bool { return len(r.Turns()) == 2 })
		release()
		r.Reads("re: long", "re: stop")
	})
}

func TestCommandsOfOthersAndPathsAreNotOurs(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Channel.AllowConversations = []string{"g1"}
		r.Start()
		r.Platform.Say("c1", "ada", "/start deep-link-payload")
		if s := r.Await(1)[0]; !strings.Contains(s.Text, "Hello ada") || strings.Contains(s.Text, "payload") {
			t.Errorf("/start: %q", s.Text)
		}
		group := scripted.Message{Conversation: "g1", Kind: "group", User: "ada"}
		other, path, ours := group, group, group
		other.Text, other.Elsewhere = "/help@other_bot", true
		path.Text = "/etc/hosts is a file"
		ours.Text = "/whoami"
		for _, m := range []scripted.Message{other, path, ours} {
			r.Platform.Write(m)
		}
		sent := r.Await(2)
		r.Until("all are confirmed", func() bool { return r.Platform.Pending() == 0 })
		if len(r.Platform.Sent()) != 2 || !strings.Contains(sent[1].Text, "You are ada") || len(r.Turns()) != 0 {
			t.Errorf("sent %q", routertest.Texts(r.Platform.Sent()))
		}
	})
}
