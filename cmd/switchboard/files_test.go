package main_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
)

var (
	attachedID = regexp.MustCompile(`(?m)^id (\d+): "`)
	fileLink   = regexp.MustCompile(`\[[^\]]*\]\(attachment:\d+\)`)
)

// filer reads what came, puts it into the workspace, and sends it back.
func filer(req llmtest.Request) llmtest.Reply {
	switch req.Role {
	case "reviewer":
		return llmtest.Text(llmtest.ReviewOK())
	case "worker":
		if link := fileLink.FindString(req.User); link != "" && req.Has("milk\nbread") {
			return llmtest.Text("You wrote milk and bread: " + link)
		}
		return llmtest.Text("Not read: " + req.Section("Outputs of earlier tasks"))
	}
	id := attachedID.FindStringSubmatch(req.Section("Attachments"))
	switch {
	case id == nil:
		return llmtest.Text(llmtest.Plan("answer", llmtest.Answer("I see no file.")))
	case said(req) == "only read it":
		return llmtest.Text(llmtest.Plan("read it",
			llmtest.Tool("attachment.read", map[string]any{"id": id[1], "offset": nil, "limit": nil}, "its text"), llmtest.Msg("Say what it says.")))
	}
	return llmtest.Text(llmtest.Plan("send it back",
		llmtest.Tool("attachment.read", map[string]any{"id": id[1], "offset": nil, "limit": nil}, "its text"),
		llmtest.Tool("attachment.save", map[string]any{"id": id[1], "path": "in/list.txt", "mode": "create"}, "it is saved"),
		llmtest.Tool("workspace.publish", map[string]any{"path": "in/list.txt"}, "a link"),
		llmtest.Msg("Send it back with the link.")))
}

// A file goes through the whole program, in and out; a program does not.
func TestFileGoesInAndOutAndAProgramDoesNot(t *testing.T) {
	t.Parallel()
	r := newRig(t, []string{"u1"}, "files = 4\n[router]\nrate_person = \"off\"\n[agent]\nplanner = \"fake/model\"\n[files]\nmax_size = \"1KB\"\n")
	r.model.Handle(filer)
	r.up()
	attach := func(text, name, content string) {
		file := r.platform.Upload(channels.Attachment{Kind: channels.Document, Name: name, Type: "text/plain"}, []byte(content))
		r.platform.Write(scripted.Message{Conversation: "cu1", User: "u1", Text: text, Attachments: []channels.Attachment{file}})
	}

	attach("send it back", "list.txt", "milk\nbread\n")
	r.await("the file comes back", 20*time.Second, func() bool {
		sent := r.platform.SentIn("cu1")
		return len(sent) > 0 && len(sent[len(sent)-1].Files) > 0
	})
	sent := r.platform.SentIn("cu1")
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
		before := len(r.platform.SentIn("cu1"))
		attach("only read it", c.name, c.content)
		r.await(c.name+" is answered", 20*time.Second, func() bool { return len(r.platform.SentIn("cu1")) > before })
		if got := r.platform.SentIn("cu1")[before].Text; !strings.Contains(got, c.want) {
			t.Errorf("%s: the person reads %q, want %q in it", c.name, got, c.want)
		}
	}

	// Too large is said at once, and what was written is answered all the same.
	before := len(r.platform.SentIn("cu1"))
	attach("and now?", "huge.txt", strings.Repeat("x", 2<<10))
	r.await("the large file is answered", 20*time.Second, func() bool { return len(r.platform.SentIn("cu1")) >= before+2 })
	all := strings.Join(r.shown("u1")[before:], "\n")
	if !strings.Contains(all, "I take files of up to 1 KB") || !strings.Contains(all, "I see no file.") {
		t.Errorf("the person reads %q", all)
	}
}
