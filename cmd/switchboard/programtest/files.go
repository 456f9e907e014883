//go:build linux

package programtest

import (
	"regexp"

	"switchboard/agent/llm/llmtest"
)

// How a planner reads which file came, and a worker where it is.
var (
	AttachedID = regexp.MustCompile(`(?m)^id (\d+): "`)
	FileLink   = regexp.MustCompile(`\[[^\]]*\]\(attachment:\d+\)`)
)

// Filer reads what came, puts it into the workspace, and sends it back.
func Filer(req llmtest.Request) llmtest.Reply {
	switch req.Role {
	case "reviewer":
		return llmtest.Text(llmtest.ReviewOK())
	case "worker":
		if link := FileLink.FindString(req.User); link != "" && req.Has("milk\nbread") {
			return llmtest.Text("You wrote milk and bread: " + link)
		}
		return llmtest.Text("Not read: " + req.Section("Outputs of earlier tasks"))
	}
	id := AttachedID.FindStringSubmatch(req.Section("Attachments"))
	switch {
	case id == nil:
		return llmtest.Text(llmtest.Plan("answer", llmtest.Answer("I see no file.")))
	case Said(req) == "only read it":
		return llmtest.Text(llmtest.Plan("read it",
			llmtest.Tool("attachment.read", map[string]any{"id": id[1], "offset": nil, "limit": nil}, "its text"), llmtest.Msg("Say what it says.")))
	}
	return llmtest.Text(llmtest.Plan("send it back",
		llmtest.Tool("attachment.read", map[string]any{"id": id[1], "offset": nil, "limit": nil}, "its text"),
		llmtest.Tool("attachment.save", map[string]any{"id": id[1], "path": "in/list.txt", "mode": "create"}, "it is saved"),
		llmtest.Tool("workspace.publish", map[string]any{"path": "in/list.txt"}, "a link"),
		llmtest.Msg("Send it back with the link.")))
}
