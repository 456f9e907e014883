package chat_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
)

// What providers' caches go by, the beginning of a prompt, is the same to the byte for each call
// of a role: whoever asks, in whatever language, session and zone, however far a turn is, and
// after the program was started again. So are the schema and all else behind it.
func TestThePartOfAPromptThatIsStableIsTheSameBytes(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, []string{"u1", "u2"}, "[agent]\nplanner = \"fake/model\"\n")
	heads, tails := map[string][]byte{}, map[string][]byte{}
	roles := map[string]int{}
	r.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		switch req.Role {
		case "reviewer":
			return llmtest.Text(llmtest.ReviewOK())
		case "worker":
			return llmtest.Text("It is done.")
		}
		if strings.HasPrefix(programtest.Said(req), "run") {
			return llmtest.Text(llmtest.Plan("run it", llmtest.Exec("echo "+programtest.Said(req), "it is said"), llmtest.Msg("tell")))
		}
		return programtest.Echo(req)
	})
	r.Up()
	talk := func(n int) {
		t.Helper()
		for _, user := range []string{"u1", "u2"} {
			r.Ask(user, fmt.Sprintf("hello %d, my name is %s", n, user))
			r.Ask(user, fmt.Sprintf("run %d %s", n, user))
		}
	}
	talk(1)
	for _, command := range []string{"/lang de", "/timezone Asia/Tokyo"} {
		r.Ask("u2", command)
	}
	time.Sleep(1100 * time.Millisecond) // another second
	r.Ask("u1", "/reset")
	talk(2)
	r.Stop(20 * time.Second)
	r.Up()
	talk(3)
	r.Stop(20 * time.Second)
	for _, req := range r.Model.Requests() {
		user, ok := userAt(req)
		if !ok {
			t.Fatalf("no user's text in %s", req.Body)
		}
		head, tail := req.Body[:user], req.Body[len(req.Body)-len(after(req)):]
		roles[req.Role]++
		if before, known := heads[req.Role]; known && !bytes.Equal(before, head) {
			t.Errorf("%s: the beginning of request %d differs from the first:\n%s\n%s", req.Role, req.N, before, head)
		} else if before := tails[req.Role]; known && !bytes.Equal(before, tail) {
			t.Errorf("%s: the end of request %d differs from the first:\n%s\n%s", req.Role, req.N, before, tail)
		}
		heads[req.Role], tails[req.Role] = head, tail
	}
	for role, least := range map[string]int{"planner": 12, "reviewer": 6, "worker": 6} {
		if roles[role] < least || len(heads[role]) < 500 {
			t.Errorf("%d calls of the %s, with a beginning of %d bytes", roles[role], role, len(heads[role]))
		}
	}
	if !bytes.Contains(heads["planner"], []byte("message.send")) || !bytes.Contains(tails["planner"], []byte("json_schema")) {
		t.Error("the beginning has no tools, or the end no schema")
	}
}

const userMark = `{"role":"user","content":"`

// userAt is where the part of a request begins that is not the same each time.
func userAt(req llmtest.Request) (at int, ok bool) {
	at = bytes.Index(req.Body, []byte(userMark))
	return at + len(userMark), at >= 0
}

// after is what stands behind it.
func after(req llmtest.Request) []byte {
	return req.Body[bytes.LastIndex(req.Body, []byte(`"}],"max_tokens"`)):]
}
