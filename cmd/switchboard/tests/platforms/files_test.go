package platforms_test

import (
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
)

// A file goes through the whole program, in and out; a program does not.
func TestFileGoesInAndOutAndAProgramDoesNot(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, []string{"u1"}, "files = 4\n[router]\nrate_person = \"off\"\n[agent]\nplanner = \"fake/model\"\n[files]\nmax_size = \"1KB\"\n")
	r.Model.Handle(programtest.Filer)
	r.Up()
	attach := func(text, name, content string) {
		file := r.Platform.Upload(channels.Attachment{Kind: channels.Document, Name: name, Type: "text/plain"}, []byte(content))
		r.Platform.Write(scripted.Message{Conversation: "cu1", User: "u1", Text: text, Attachments: []channels.Attachment{file}})
	}

	attach("send it back", "list.txt", "milk\nbread\n")
	r.Await("the file comes back", 20*time.Second, func() bool {
		sent := r.Platform.SentIn("cu1")
		return len(sent) > 0 && len(sent[len(sent)-1].Files) > 0
	})
	sent := r.Platform.SentIn("cu1")
	if file := sent[len(sent)-1].Files[0]; file.Name != "list.txt" || file.Type != "text/plain" || string(file.Data) != "milk\nbread\n" {
		t.Errorf("the person gets %+v", file)
	}
	if text := sent[0].Text; !strings.Contains(text, "You wrote milk and bread") || strings.Contains(text, "attachment:") {
		t.Errorf("the person reads %q", text)
	}

	for _, c := range []struct{ name, content, want string }{
		{"list.txt.exe", "milk", "its name ends in .exe"},
		{"notes.txt", "#!/bin/sh\nrm -rf ~\n", "it is a script"},
	} {
		before := len(r.Platform.SentIn("cu1"))
		attach("only read it", c.name, c.content)
		r.Await(c.name+" is answered", 20*time.Second, func() bool { return len(r.Platform.SentIn("cu1")) > before })
		if got := r.Platform.SentIn("cu1")[before].Text; !strings.Contains(got, c.want) {
			t.Errorf("%s: the person reads %q, want %q in it", c.name, got, c.want)
		}
	}

	// Too large is said at once, and what was written is answered all the same.
	before := len(r.Platform.SentIn("cu1"))
	attach("and now?", "huge.txt", strings.Repeat("x", 2<<10))
	r.Await("the large file is answered", 20*time.Second, func() bool { return len(r.Platform.SentIn("cu1")) >= before+2 })
	all := strings.Join(r.Shown("u1")[before:], "\n")
	if !strings.Contains(all, "I take files of up to 1 KB") || !strings.Contains(all, "I see no file.") {
		t.Errorf("the person reads %q", all)
	}
}
