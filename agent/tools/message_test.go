package tools

import (
	"context"
	"strings"
	"testing"
)

func TestMessageSendHandsOnWhatIsComplete(t *testing.T) {
	t.Parallel()
	var sent []string
	_, call := builtin(t, BuiltinConfig{Messenger: func(_ context.Context, call Call, to, text string) Result {
		sent = append(sent, strings.Join([]string{call.Session.Person, string(call.Taint), to, text}, "|"))
		return Result{End: EndOK, Output: "sent to " + to + "\n"}
	}})
	if res := call("message.send", `{"to":" Bob ","text":" *hi*\n"}`, "web"); res.End != EndOK || res.Output != "sent to Bob\n" {
		t.Errorf("%+v", res)
	}
	for args, code := range map[string]string{
		`{"to":"Bob","text":" \n"}`: "empty_text",
		`{"to":"Bob"}`:              "bad_arguments",
		`{"to":"Bob","text":"` + strings.Repeat("x", 8001) + `"}`: "bad_arguments",
	} {
		if res := call("message.send", args); res.End != EndRefused || res.Code != code {
			t.Errorf("%.40s: %+v", args, res)
		}
	}
	if len(sent) != 1 || sent[0] != "Ann|web|Bob| *hi*\n" {
		t.Errorf("sent: %q", sent)
	}
	for _, tool := range Builtin(BuiltinConfig{}) {
		if tool.Name == "message.send" {
			t.Error("it is there with nobody to carry it")
		}
	}
}
