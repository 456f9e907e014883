package setup_test

import (
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// What init and the doctor see of a model, by what it does; the silent one hangs.
var modelKinds = map[string]struct {
	does    func(llmtest.Request) llmtest.Reply
	forgets bool   // what is longer than 4,096 tokens, and says nothing of it
	sees    string // empty: nothing
	fails   bool
}{
	"good": {does: llmtest.Agreeable},
	"sloppy": {does: func(req llmtest.Request) llmtest.Reply {
		if req.Role != "planner" {
			return llmtest.Agreeable(req)
		}
		return llmtest.Text("Sure! Here is the plan:\n```json\n{'goal': 'ask', 'secrets': None, 'tasks': [{'type': 'msg', 'detail': 'ask', 'tool': None, 'args': None, " +
			"'expect': None, 'choices': None, 'answer': 'At 9 sharp?'},]}\n```\n")
	}, sees: "does not quite keep to the form of a plan, which I put right"},
	"loose": {does: func(req llmtest.Request) llmtest.Reply {
		if req.Role != "planner" {
			return llmtest.Agreeable(req)
		}
		return llmtest.Text(`{"goal": "remind", "tasks": [{"type": "tool", "detail": "remind", "tool": "schedule.add", "args": {"when": "tomorrow at 9", "text": "call Bob"}, "expect": "it is made"}, {"type": "msg", "detail": "say so"}]}`)
	}, sees: "leaves out parts of a plan: ", fails: true},
	"chatty": {does: func(req llmtest.Request) llmtest.Reply {
		if req.Role != "planner" {
			return llmtest.Agreeable(req)
		}
		return llmtest.Text("I will remind you tomorrow at 9.")
	}, sees: "ignores the form of a plan and writes plain text, so it can talk but use no tools"},
	"small": {does: func(req llmtest.Request) llmtest.Reply {
		if req.System == "" {
			return llmtest.Text("What a nice list!")
		}
		return llmtest.Agreeable(req)
	}, forgets: true, sees: "forgets the beginning of a prompt of 6000 tokens"},
	"empty": {does: func(llmtest.Request) llmtest.Reply { return llmtest.Text("{}") }, sees: `gives no plan, so it can answer nothing: {} (field goal: missing`, fails: true},
	"silent": {
		does: func(llmtest.Request) llmtest.Reply { return llmtest.Hang() },
		sees: "did not answer in time", fails: true,
	},
}

// The doctor says what a model does wrong, and how to mend it.
func TestDoctorSaysWhatAModelIsGoodFor(t *testing.T) {
	t.Parallel()
	for name, kind := range modelKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// That the model reads much is only what the settings say.
			r := programtest.NewRig(t, nil, "[agent]\nplanner = \"much\"\n[llm.models.much]\nmodel = \"fake/model\"\ncontext_tokens = 128000\n")
			if kind.forgets {
				r.Model.Forgets(4096, programtest.Tokens(t))
			}
			r.Model.Handle(kind.does)
			out, _, code := r.Command("doctor")
			switch {
			case kind.fails != (code != 0), kind.fails != strings.Contains(out, "FAIL  model"):
				t.Errorf("exit %d:\n%s", code, out)
			case kind.sees == "" && (strings.Contains(out, "WARN  model") || !strings.Contains(out, "ok    model ")):
				t.Errorf("a good model is blamed:\n%s", out)
			case !strings.Contains(out, kind.sees):
				t.Errorf("it does not say %q:\n%s", kind.sees, out)
			case kind.forgets && !strings.Contains(out, "OLLAMA_CONTEXT_LENGTH=16384"):
				t.Errorf("it does not say how to mend it:\n%s", out)
			}
		})
	}
}

// So does init: what is of no use is not taken unless the person says so.
func TestInitSaysWhatAModelIsGoodFor(t *testing.T) {
	t.Parallel()
	for name, kind := range modelKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			srv.ExpectFaults() // it has no list
			srv.Handle(kind.does)
			shows, next := "Asking some/model for a small plan …", botToken
			switch {
			case kind.forgets:
				srv.Forgets(4096, programtest.Tokens(t))
				shows = "WARN  it reads 4096 tokens at once"
			case kind.fails:
				shows, next = kind.sees, itsModel
			case kind.sees != "":
				shows = "WARN  it " + kind.sees
			}
			s := inFolder(t, t.TempDir(), "init")
			s.Follow(programtest.Step{whichModel, srv.URL(), "It does not say which models it has"}, programtest.Step{itsModel, "some/model", ""})
			testkit.Await(t, shows, 2*time.Minute, func() bool { return strings.Contains(s.Shown.String(), shows) })
			s.Await(strings.Index(s.Shown.String(), "Asking"), next)
			if shown := s.Shown.String(); kind.sees == "" && (strings.Contains(shown, "WARN") || strings.Contains(shown, "FAIL")) {
				t.Errorf("a good model is blamed:\n%s", shown)
			}
		})
	}
}
