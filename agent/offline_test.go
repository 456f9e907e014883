package agent

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
	"switchboard/agent/llm/offline"
	"switchboard/agent/tools"
)

// offlineWorld is a turn whose models are the real client and the offline model.
func offlineWorld(t *testing.T, text string) *world {
	w := newWorld(t)
	w.turn.Message.Text = text
	models, err := llm.New(llm.Config{}, offline.New(w.opts.Now), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(models.Close)
	w.answer = models.Complete
	return w
}

func TestOfflineModelAnswersRunsAndSaysWhatFailed(t *testing.T) {
	t.Parallel()
	refuse := func(q tools.Question) tools.Decision {
		if q.Tool == tools.ExecName {
			return tools.Decision{Verdict: tools.Refuse, Rule: "role.exec", Reason: "only admins may run commands"}
		}
		return tools.Decision{Verdict: tools.Allow}
	}
	for _, tc := range []struct {
		text   string
		decide func(tools.Question) tools.Decision
		says   string
		final  bool
	}{
		{"what can you do?", nil, "\"run uname -a\"", true},
		{"run uname -a", nil, "output of uname -a", true},
		{"run uname -a", refuse, "only admins may run commands", true},
		{"run false", nil, "`false` failed.", false},
	} {
		w := offlineWorld(t, tc.text)
		w.decide = tc.decide
		w.exec = func(_ context.Context, cmd tools.Command) tools.Result {
			if cmd.Line == "false" {
				return tools.Result{End: tools.EndError, Code: "exit_status", Output: "exit status 1"}
			}
			return tools.Result{End: tools.EndOK, Output: "output of " + cmd.Line}
		}
		w.run()
		last := w.journal.said[len(w.journal.said)-1]
		if !strings.Contains(last.Text, tc.says) || last.Final != tc.final {
			t.Errorf("%q: said %+v", tc.text, last)
		}
	}
}

// The fake server judges the wire format, the schemas and the slices on its own.
func TestPromptsPassTheStrictFake(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t)
	for _, marker := range []string{"OUTFACT", "OUTOTHER", "OUTNAME", "OUTQUOTE", "OUTPUT1", "OUTPUT2", "OUTREASON"} {
		server.Fenced(marker)
	}
	server.Forbid(roleWorker, "REQUEST", "LINE", "QUESTION")
	server.Forbid(roleReviewer, "FACT", "SUMMARY", "LINE", "QUESTION", "PREFERS", "RULE")
	w := fullWorld(t)
	script := w.answer
	server.Handle(func(req llmtest.Request) llmtest.Reply {
		response, err := script(t.Context(), req.Model, llm.Request{Role: req.Role, System: req.System, User: req.User})
		if err != nil {
			return llmtest.Raw(http.StatusInternalServerError, err.Error())
		}
		return llmtest.Text(response.Text)
	})
	models, err := llm.New(llm.Config{Providers: map[string]llm.Provider{"fake": {BaseURL: server.URL(), APIKey: "key"}}}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(models.Close)
	w.cfg.Planner = "fake/model"
	w.answer = models.Complete
	w.run()
	w.wantEnd("done", "answered")
	for _, call := range w.journal.calls {
		if call.Error != "" || len(call.Exchange.Request) == 0 || len(call.Exchange.Response) == 0 || call.Usage.In == 0 {
			t.Errorf("call %s is not whole: %+v", call.Step, call)
		}
	}
}

// What a provider does wrong ends in a sentence for the person, never in silence.
func TestProviderFaultsEndInASentence(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reply   llmtest.Reply
		outcome string
	}{
		"empty answer":       {llmtest.Text(""), "invalid_plan"},
		"truncated":          {llmtest.Reply{Text: `{"goal":"g`, Finish: "length"}, "invalid_plan"},
		"half a plan":        {llmtest.Text("I would rather {not."), "invalid_plan"},
		"no JSON at all":     {llmtest.Garbage(), "model_error"},
		"too long":           {llmtest.TooLong(), "model_error"},
		"refuses every form": {llmtest.NoStructuredOutput(), "model_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.New(t)
			server.Script(tc.reply)
			models, err := llm.New(llm.Config{Providers: map[string]llm.Provider{"fake": {BaseURL: server.URL(), APIKey: "key"}}}, nil, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(models.Close)
			w := newWorld(t)
			w.cfg.Planner, w.answer = "fake/model", models.Complete
			w.run()
			w.wantEnd("failed", tc.outcome)
			if len(w.journal.said) != 1 {
				t.Errorf("said %q", w.journal.texts())
			}
		})
	}
}
