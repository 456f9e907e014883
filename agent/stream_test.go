package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"switchboard/agent/llm"
)

// typed answers each role with its next line, streamed byte by byte where that is
// asked for; the last one is repeated.
func (w *world) typed(lines map[string][]string) {
	w.script(lines)
	whole := w.answer
	w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
		resp, err := whole(ctx, model, req)
		if req.Stream != nil {
			for i := range resp.Text {
				req.Stream(resp.Text[:i])
			}
			req.Stream(resp.Text)
		}
		return resp, err
	}
}

// grows are the beginnings of text, rune by rune.
func grows(text string) (all []string) {
	for i := range text {
		if i > 0 {
			all = append(all, text[:i])
		}
	}
	return append(all, text)
}

func (w *world) wantStreamed(want ...string) {
	w.t.Helper()
	if got := w.journal.streamed; !slices.Equal(got, want) {
		w.t.Errorf("streamed %q\nwant %q", got, want)
	}
}

func TestReadyAnswerIsStreamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn.Place.Streams = true
	task := answerTask("Say \"é\"\n😀.")
	task.Choices = []string{"Fine", "More"}
	w.typed(map[string][]string{rolePlanner: {planText(task)}})
	w.run()
	w.wantTexts("Say \"é\"\n😀.")
	w.wantStreamed(grows("Say \"é\"\n😀.")...)
}

func TestNothingIsStreamedWhereItIsNotShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.typed(map[string][]string{
		rolePlanner: {planText(execTask("ls"), msgTask("tell"))}, roleReviewer: {okText()}, roleWorker: {"Here."},
	})
	w.run()
	w.wantStreamed()
	for _, req := range w.asked {
		if req.Stream != nil {
			t.Errorf("the %s was asked to stream", req.Role)
		}
	}
}

func TestWorkersTextIsStreamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn.Place.Streams = true
	w.typed(map[string][]string{
		rolePlanner:  {planText(execTask("ls"), msgTask("first"), msgTask("then"))},
		roleReviewer: {okText()}, roleWorker: {"One.", "Two."},
	})
	w.run()
	w.wantTexts("One.", "Two.")
	w.wantStreamed(append(grows("One."), grows("Two.")...)...)
	for _, req := range w.requests(roleReviewer) {
		if req.Stream != nil {
			t.Error("the reviewer was asked to stream")
		}
	}
}

func TestNothingOfARefusedPlanStays(t *testing.T) {
	t.Parallel()
	fine := planText(answerTask("ok"))
	for name, tt := range map[string]struct {
		first    string
		streamed []string
	}{
		"another task":      {planText(answerTask("no"), msgTask("x")), []string{"n", "no", ""}},
		"another field":     {strings.Replace(planText(answerTask("no")), `"answer":"no"`, `"answer":"no","more":1`, 1), []string{"n", "no", ""}},
		"cut off":           {strings.TrimSuffix(planText(answerTask("no")), `"}]}`), []string{"n", "no", ""}},
		"choices":           {planText(Task{Type: TaskMsg, Detail: "x", Choices: []string{"a", "A"}, Answer: ptr("no")}), nil},
		"expect":            {planText(Task{Type: TaskMsg, Detail: "x", Expect: ptr("x"), Answer: ptr("no")}), nil},
		"exec":              {planText(Task{Type: TaskExec, Detail: "x", Expect: ptr("x"), Answer: ptr("no")}), nil},
		"after exec":        {planText(execTask("ls"), answerTask("no")), nil},
		"no goal":           {strings.Replace(planText(answerTask("no")), `"goal":"reach it",`, "", 1), nil},
		"goal last":         {`{"secrets":null,"tasks":[{"type":"msg","detail":"x","tool":null,"args":null,"expect":null,"choices":null,"answer":"no"}],"goal":3}`, nil},
		"answer too early":  {`{"goal":"x","secrets":null,"tasks":[{"type":"msg","detail":"x","tool":null,"args":null,"answer":"no","expect":null,"choices":["a","a"]}]}`, nil},
		"answer in a field": {`{"goal":"\"tasks\":[{\"answer\":\"no\"","secrets":null,"tasks":[]}`, nil},
		"prose before":      {"Here {it} is: " + planText(answerTask("no")), nil},
		"prose around":      {"Here: " + planText(answerTask("no")) + " Done.", []string{"n", "no", ""}},
		"raw line break":    {strings.Replace(planText(answerTask("no?o")), "?", "\n", 1), []string{"n", "no", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.turn.Place.Streams = true
			w.typed(map[string][]string{rolePlanner: {tt.first, fine}})
			typed := w.answer
			w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
				if len(w.asked) > 1 {
					req.Stream = nil // it comes as one, and takes nothing back by beginning anew
				}
				return typed(ctx, model, req)
			}
			w.run()
			w.wantTexts("ok")
			w.wantStreamed(tt.streamed...)
		})
	}
}

func TestSecretsAreNeverStreamed(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]string{
		"before":        `{"goal":"x","secrets":[{"key":"k","value":"hunter2"}],"tasks":[{"type":"msg","detail":"x","tool":null,"args":null,"expect":null,"choices":null,"answer":"hunter2 it is"}]}`,
		"behind":        `{"goal":"x","tasks":[{"type":"msg","detail":"x","tool":null,"args":null,"expect":null,"choices":null,"answer":"hunter2 it is"}],"secrets":[{"key":"k","value":"hunter2"}]}`,
		"twice":         `{"goal":"x","secrets":[{"key":"k","value":"hunter2"}],"secrets":null,"tasks":[{"type":"msg","detail":"x","tool":null,"args":null,"expect":null,"choices":null,"answer":"hunter2 it is"}]}`,
		"another case":  `{"goal":"x","secrets":null,"Secrets":[{"key":"k","value":"hunter2"}],"tasks":[{"type":"msg","detail":"x","tool":null,"args":null,"expect":null,"choices":null,"answer":"hunter2 it is"}]}`,
		"written oddly": `{"goal":"x","secr\u0065ts":[{"key":"k","value":"hunter2"}],"tasks":[{"type":"msg","detail":"x","tool":null,"args":null,"expect":null,"choices":null,"answer":"hunter2 it is"}]}`,
	} {
		for _, lenient := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, lenient %t", name, lenient), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.turn.Place.Streams, w.cfg.Lenient = true, lenient
				w.typed(map[string][]string{rolePlanner: {plan}})
				w.run()
				w.wantStreamed()
				w.wantEnd("failed", "not_available")
			})
		}
	}
}

// The model client takes the plan out of what stands around it, at the end.
func TestPlanInProseIsStreamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn.Place.Streams = true
	plan := planText(answerTask("ok"))
	w.answer = func(_ context.Context, _ string, req llm.Request) (llm.Response, error) {
		whole := "Sure:\n```json\n" + plan + "\n```\nDone."
		for i := range whole {
			req.Stream(whole[:i])
		}
		return llm.Response{Text: plan, Finish: "stop"}, nil
	}
	w.run()
	w.wantTexts("ok")
	w.wantStreamed("o", "ok")
}

func TestStreamOfAFailedModelIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn.Place.Streams, w.cfg.Fallback = true, []string{"second"}
	w.answer = func(_ context.Context, model string, req llm.Request) (llm.Response, error) {
		if req.Role == rolePlanner {
			return llm.Response{Text: planText(msgTask("tell")), Finish: "stop"}, nil
		}
		if model == "second" {
			req.Stream("B")
			req.Stream("Better")
			return llm.Response{Text: "Better", Finish: "stop"}, nil
		}
		req.Stream("Wor")
		return llm.Response{}, fmt.Errorf("%w: it broke off", llm.ErrUnavailable)
	}
	w.run()
	w.wantTexts("Better")
	w.wantStreamed("Wor", "", "B", "Better")
}

// What the person has read of an answer is not taken from them when it breaks off: what
// ends the turn takes its place.
func TestStreamThatBreaksOffIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause error
		said  string
	}{
		"cancelled": {ErrCancelled, "Cancelled."},
		"model":     {nil, "I cannot answer now: the language model gave no answer. Please try again in a while."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.turn.Place.Streams = true
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			w.answer = func(ctx context.Context, _ string, req llm.Request) (llm.Response, error) {
				if req.Role == rolePlanner {
					return llm.Response{Text: planText(msgTask("tell")), Finish: "stop"}, nil
				}
				req.Stream("Once upon")
				if c.cause != nil {
					cancel(c.cause)
					return llm.Response{}, ctx.Err()
				}
				return llm.Response{}, fmt.Errorf("%w: it broke off", llm.ErrUnavailable)
			}
			if err := w.agent().Run(ctx, w.turn, w.journal); err != nil {
				t.Fatal(err)
			}
			w.wantTexts(c.said)
			w.wantStreamed("Once upon")
		})
	}
}

// A stream is as slow as it likes, if it is not silent; llm_timeout bounds the whole.
func TestStreamedCallsHaveTheirTimes(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		w.turn.Place.Streams, w.cfg.Fallback = true, []string{"second"}
		w.cfg.LLMTimeout, w.cfg.StallTimeout = 10*time.Minute, time.Minute
		w.answer = func(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != req.Timeout {
				t.Errorf("the call ends in %s, the question says %s", time.Until(deadline), req.Timeout)
			}
			if req.Role != rolePlanner || model == "second" {
				return llm.Response{Text: planText(answerTask("ok")), Finish: "stop"}, nil
			}
			return llm.Response{}, fmt.Errorf("%w", llm.ErrStalled)
		}
		w.run()
		if first := w.asked[0]; first.Timeout != 10*time.Minute || first.Stall != time.Minute {
			t.Errorf("first asked within %s, silent for %s", first.Timeout, first.Stall)
		}
		if last := w.asked[1]; last.Timeout != 10*time.Minute || last.Stall != 0 {
			t.Errorf("last asked within %s, silent for %s", last.Timeout, last.Stall)
		}
	})
}

// After a release somebody else has the turn: nothing more is shown.
func TestNothingIsStreamedAfterAHandBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn.Place.Streams = true
	ctx, cancel := context.WithCancelCause(t.Context())
	w.answer = func(ctx context.Context, _ string, req llm.Request) (llm.Response, error) {
		if req.Role == rolePlanner {
			return llm.Response{Text: planText(msgTask("tell")), Finish: "stop"}, nil
		}
		req.Stream("Be")
		cancel(ErrReleased)
		req.Stream("Bett")
		return llm.Response{}, ctx.Err()
	}
	if err := w.agent().Run(ctx, w.turn, w.journal); !errors.Is(err, ErrReleased) {
		t.Fatal(err)
	}
	w.wantStreamed("Be")
}

func TestStreamOfAChangedMessageIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn.Place.Streams = true
	ctx, cancel := context.WithCancelCause(t.Context())
	w.answer = func(ctx context.Context, _ string, req llm.Request) (llm.Response, error) {
		req.Stream(strings.TrimSuffix(planText(answerTask("old text")), `text"}]}`))
		cancel(ErrRestart)
		return llm.Response{}, ctx.Err()
	}
	if err := w.agent().Run(ctx, w.turn, w.journal); !errors.Is(err, ErrRestart) {
		t.Fatal(err)
	}
	w.wantStreamed("old ", "")
}

// scan is a scanner as the agent uses it.
func scan(t testing.TB) partial {
	w := newWorld(t)
	return newRun(w.agent(), w.turn, w.journal, &State{}).planner.readyAnswer()
}

func TestEscapesAreShownWhole(t *testing.T) {
	t.Parallel()
	head := strings.TrimSuffix(planText(answerTask("X")), `X"}]}`)
	for _, tt := range []struct{ written, reads string }{
		{`a\u00e9b`, "aéb"},
		{`\ud83d\ude00!`, "😀!"},
		{`\uD83D\uDE00`, "😀"},
		{`\ud83dx`, "\uFFFDx"},
		{`\ud83d\n`, "\uFFFD\n"},
		{`\ud83d\u0041`, "\uFFFDA"},
		{`\ude00\ud83d`, "\uFFFD\uFFFD"},
		{`\\u0041\/\"\t`, "\\u0041/\"\t"},
		{`é😀`, "é😀"},
	} {
		read, last := scan(t), ""
		plan := head + tt.written + `"}]}`
		for i := range len(plan) + 1 {
			got := read(plan[:i])
			if !strings.HasPrefix(tt.reads, got) || !strings.HasPrefix(got, last) {
				t.Fatalf("%s: %q after %q", tt.written, got, last)
			}
			last = got
		}
		if last != tt.reads {
			t.Errorf("%s reads %q, want %q", tt.written, last, tt.reads)
		}
	}
}

// Any beginning of any valid plan shows a beginning of its answer, or nothing.
func FuzzAnswerScan(f *testing.F) {
	f.Add("goal", "detail", "the answer", "a", " ", 3)
	f.Add("\"tasks\":[{", "\\\"answer\\\":\"", "{\"secrets\":[1]}\n\u2028😀\\u0041\x00", "<&>", "\n\t", 1)
	f.Fuzz(func(t *testing.T, goal, detail, answer, choice, space string, size int) {
		if strings.Trim(space, " \n\r\t") != "" {
			t.Skip("no space")
		}
		task := Task{Type: TaskMsg, Detail: detail, Answer: &answer}
		if choice != "" {
			task.Choices = []string{choice}
		}
		plan := strings.ReplaceAll(marshal(Plan{Goal: goal, Tasks: []Task{task}}), `,"`, space+`,"`)
		plan = space + strings.ReplaceAll(plan, `"}]}`, `"`+space+"}"+space+"]"+space+"}") + space
		parsed, faults := parsePlan(plan, 20, false)
		w := newWorld(t)
		r := newRun(w.agent(), w.turn, w.journal, &State{})
		valid := len(faults) == 0 && ready(parsed) && len(r.planner.validate(parsed)) == 0 && !holdsSecrets(plan)
		read, last := r.planner.readyAnswer(), ""
		for i := 0; ; i = min(i+1+max(0, size%7), len(plan)) {
			got := tidy(read(plan[:i]))
			switch {
			case !valid && got != "" && i == len(plan):
				t.Errorf("shows %q of a plan that is not valid: %s", got, plan)
			case valid && (!strings.HasPrefix(*parsed.Tasks[0].Answer, got) || !strings.HasPrefix(got, last) || !utf8.ValidString(got)):
				t.Fatalf("shows %q after %q in %s", got, last, plan)
			}
			if last = got; i == len(plan) {
				break
			}
		}
		if valid && last != *parsed.Tasks[0].Answer {
			t.Errorf("shows %q at the end of %s", last, plan)
		}
	})
}

// Whatever a model writes, however it is cut.
func FuzzAnswerScanAnything(f *testing.F) {
	f.Add(planText(answerTask("no")), 1, false)
	f.Add("```json\n"+planText(answerTask("no"), answerTask("yes"))+"\n```", 5, true)
	f.Add(`{"tasks":[{"answer":"\ud8`, 2, true)
	f.Add(`}{"tasks":[[{"answer":"x`, 2, true)
	f.Fuzz(func(t *testing.T, text string, size int, lenient bool) {
		text = tidy(text)
		read, got := scan(t), ""
		for i := 0; ; i = min(i+1+max(0, size%50), len(text)) {
			if got = read(text[:i]); i == len(text) {
				break
			}
		}
		parsed, faults := parsePlan(text, 20, lenient)
		if len(faults) > 0 || !ready(parsed) || holdsSecrets(text) {
			return
		}
		if got = tidy(got); got != "" && got != *parsed.Tasks[0].Answer {
			t.Errorf("shows %q of %s", got, text)
		}
	})
}
