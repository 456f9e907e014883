package turns_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

func TestLoadGivesBackWhatWasCommitted(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		e := storetest.Claiming(storetest.Entry("c", "1", "do it"))
		e.Taint, e.Event.Message.Quote, e.Event.Conversation.Title = "quote", "they said", "Marco"
		ref := h.Accept(e)[0].Claimed.TurnRef

		usage := llm.Usage{In: 100, Out: 20, Cached: 5, Cost: 0.25}
		call := agent.Call{
			Step: "plan.0.0", Role: "planner", Answer: strings.Repeat("é👍", 5000), Refused: "no task", Usage: usage,
			Exchange: llm.Exchange{Provider: "p", Model: "m", Request: []byte(`{"a":1}`), Response: []byte("raw\x00"), Duration: time.Second},
		}
		failed := agent.Call{Step: "plan.0.1", Role: "planner", Error: "the model is not available"}
		tool, args, expect := "http.get", `{"url":"x"}`, "a page"
		want := agent.PlanRow{Goal: "the goal", Secrets: []string{"KEY"}, Tasks: []agent.TaskRow{
			{Task: agent.Task{Type: agent.TaskTool, Detail: "get it", Tool: &tool, Args: &args, Expect: &expect}},
			{Task: agent.Task{Type: agent.TaskExec, Detail: "ls", Expect: &expect}, Position: 1},
			{Task: agent.Task{Type: agent.TaskMsg, Detail: "say", Choices: []string{"a", "b"}}, Position: 2},
		}}
		h.Commit(ref, agent.Step{Calls: []agent.Call{call, failed}})
		h.Commit(ref, agent.Step{Plan: &want})
		h.Commit(ref, agent.Step{Tasks: []agent.TaskChange{{Type: agent.TaskTool, State: agent.TaskRunning}}})
		result := &tools.Result{End: tools.EndError, Output: "out", Code: "c", Rule: "r", Hint: "h", Taint: "web"}
		h.Commit(ref, agent.Step{Tasks: []agent.TaskChange{{Type: agent.TaskTool, State: agent.TaskFailed, Result: result}}})
		review := &agent.Review{Status: "replan", Reason: "no page", Learn: "the site is down", Taint: "web"}
		say := agent.Say{Position: -1, Notice: true, Text: "I try again", Choices: []string{"x"}, Taint: "web"}
		h.Commit(ref, agent.Step{Review: review, Say: []agent.Say{say}}, outbox.Reply{
			Text: "I try again!", Notice: true, Taint: "web", ReplyTo: "m1", Parts: []channels.Body{{Text: "I try"}, {Text: "again!", Rich: json.RawMessage(`{"b":1}`)}},
		})
		h.Commit(ref, agent.Step{Plan: &agent.PlanRow{Attempt: 1, Goal: "again"}})

		d, err := h.Router.Load(h.Ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		call.Exchange, call.Refused, failed.Exchange = llm.Exchange{}, "", llm.Exchange{}
		call.At, failed.At = d.State.Calls[0].At, d.State.Calls[1].At
		want.Tasks[0].State, want.Tasks[0].Result, want.Tasks[0].Review = agent.TaskFailed, result, review
		want.Tasks[1].State, want.Tasks[2].State = agent.TaskCancelled, agent.TaskCancelled
		state := agent.State{
			Calls: []agent.Call{call, failed}, Plans: []agent.PlanRow{want, {Attempt: 1, Goal: "again"}}, Said: []agent.Say{say},
		}
		if !reflect.DeepEqual(d.State, state) {
			t.Errorf("state\n got %+v\nwant %+v", d.State, state)
		}
		turn := agent.Turn{
			ID: ref.TurnID, Session: agent.Session{ID: ref.SessionID, Key: "tg:c"}, Person: agent.Person{Name: "marco"}, StartedAt: d.Turn.StartedAt,
			Message: agent.Incoming{ID: d.Turn.Message.ID, Text: "do it", Author: "marco", At: time.Unix(1700000000, 0).UTC(), Taint: "quote", Quote: "they said"},
		}
		if !reflect.DeepEqual(d.Turn, turn) || d.ReplyTo != "m1" || d.Conversation != e.Event.Conversation || time.Since(d.Turn.StartedAt) > time.Minute {
			t.Errorf("turn\n got %+v\nwant %+v, %+v", d.Turn, turn, d.Conversation)
		}

		v, err := h.Router.Turn(h.Ctx, ref.TurnID, true)
		if err != nil || v.Calls != 2 || v.TokensIn != 100 || v.Cost != 0.25 || len(v.LLM) != 2 || string(v.LLM[0].Request) != `{"a":1}` ||
			v.LLM[0].Duration != "1s" || v.LLM[0].Refused != "no task" || v.LLM[1].Refused != "" || len(v.Messages) != 2 || v.Messages[1].Text != "I try again!" || v.Messages[1].Event == 0 ||
			v.Plans[0].Tasks[0].Review.Reason != "no page" || v.Plans[0].Tasks[0].Outcome != "error c" {
			t.Errorf("%+v, %v", v, err)
		}
		if v, _ := h.Router.Turn(h.Ctx, ref.TurnID, false); v.LLM[0].Request != nil || v.LLM[0].Response != "" {
			t.Errorf("bodies without being asked: %+v", v.LLM[0])
		}
		if v, err := h.Router.Current(h.Ctx, "tg:c"); err != nil || v.ID != ref.TurnID || len(v.Plans) != 2 || v.LLM != nil {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

func TestCommitRefusesWhatDoesNotFollow(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		h.Commit(ref, agent.Step{Plan: &agent.PlanRow{Goal: "g", Tasks: []agent.TaskRow{
			{Task: agent.Task{Type: agent.TaskExec}}, {Task: agent.Task{Type: agent.TaskMsg}, Position: 1},
		}}})
		change := func(position int, s agent.TaskState) agent.Step {
			return agent.Step{Tasks: []agent.TaskChange{{Position: position, Type: agent.TaskExec, State: s}}, Calls: []agent.Call{{Step: string(s)}}}
		}
		refused := func(step agent.Step) {
			t.Helper()
			if _, err := h.Router.Commit(h.Ctx, ref, step, nil); !errors.Is(err, core.ErrConflict) || strings.Contains(err.Error(), "constraint") {
				t.Errorf("%+v: %v", step, err)
			}
		}
		refused(change(0, agent.TaskDone))
		refused(change(0, agent.TaskInterrupted))
		refused(change(7, agent.TaskRunning))
		refused(change(0, agent.TaskPending))
		h.Commit(ref, change(0, agent.TaskRunning))
		refused(change(0, agent.TaskRunning))
		h.Commit(ref, change(0, agent.TaskInterrupted))
		refused(change(0, agent.TaskDone))
		refused(agent.Step{Plan: &agent.PlanRow{Goal: "twice"}})
		refused(storetest.End("queued", ""))
		h.Commit(ref, change(1, agent.TaskDone)) // a ready message
		d, _ := h.Router.Load(h.Ctx, ref)
		if len(d.State.Calls) != 3 {
			t.Errorf("refused steps left calls: %+v", d.State.Calls)
		}
	})
}

func TestEndClosesTasks(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		h.Commit(ref, agent.Step{Plan: &agent.PlanRow{Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskMsg}}}}})
		h.Commit(ref, storetest.End("failed", "timeout"))
		v, err := h.Router.Turn(h.Ctx, ref.TurnID, false)
		if err != nil || v.State != "failed" || v.Outcome != "timeout" || v.FinishedAt == nil || v.StartedAt == nil || v.Plans[0].Tasks[0].State != "cancelled" {
			t.Errorf("%+v, %v", v, err)
		}
		if list, err := h.Router.Turns(h.Ctx, storetest.All, "failed", 5); err != nil || len(list) != 1 || list[0].Text != "hello 1" {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// What was said before, and what a reset forgets.
func TestRecentEndsAtTheReset(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		h.Accept(storetest.Entry("c", "2", "second"), storetest.Entry("c", "3", "third"))
		answer := func(ref core.TurnRef, s string) *core.Claimed {
			step := storetest.End("done", "answered")
			step.Say = []agent.Say{{Text: s, Final: true}}
			return h.Commit(ref, step, outbox.Reply{Text: s, Final: true})
		}
		recent := func(ref core.TurnRef) (lines []string) {
			d, err := h.Router.Load(h.Ctx, ref)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range d.State.Recent {
				lines = append(lines, fmt.Sprintf("%s %v %s", l.Author, l.Bot, l.Text))
			}
			return lines
		}
		next := answer(ref, "one")
		want := []string{"marco false hello 1", "switchboard true one"}
		if got := recent(next.TurnRef); !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		h.Accept(storetest.Control(storetest.Entry("c", "4", "/reset"), intake.EffectReset, "forgotten"))
		next = answer(next.TurnRef, "two")
		answer(next.TurnRef, "three")
		ref = h.Begun("c", "5")
		if got := recent(ref); got != nil {
			t.Errorf("after the reset: %q", got)
		}
		answer(ref, "five")
		if got := recent(h.Begun("c", "6")); len(got) != 2 {
			t.Errorf("after the reset: %q", got)
		}
	})
}

func TestEventsAreNumberedAndTerse(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		long := strings.Repeat("\x01\"é👍", 20000)
		tool := long[:1000]
		plan := &agent.PlanRow{Goal: long}
		for i := range 500 {
			plan.Tasks = append(plan.Tasks, agent.TaskRow{Position: i, Task: agent.Task{Type: agent.TaskTool, Detail: long[:2000], Tool: &tool}})
		}
		step := storetest.End("done", long)
		step.Plan = plan
		step.Review = &agent.Review{Status: "replan", Reason: long}
		step.Tasks = []agent.TaskChange{{Type: agent.TaskTool, State: agent.TaskRunning}, {Type: agent.TaskTool, State: agent.TaskFailed, Result: &tools.Result{End: tools.EndError, Code: long, Output: long}}}
		h.Commit(ref, step)
		events, err := h.Router.Events(h.Ctx, "tg:c", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for i, e := range events {
			kinds = append(kinds, e.Kind)
			if e.N != int64(i+1) || len(e.Data) > 2048 || (len(e.Data) > 0 && !json.Valid(e.Data)) || e.TurnID != ref.TurnID {
				t.Errorf("event %d: n %d, %d bytes: %s", i, e.N, len(e.Data), e.Data)
			}
		}
		if got := strings.Join(kinds, " "); got != "message turn turn plan review task task turn" {
			t.Error(got)
		}
		if after, err := h.Router.Events(h.Ctx, "tg:c", 7, 100); err != nil || len(after) != 1 || after[0].N != 8 {
			t.Errorf("%+v, %v", after, err)
		}
	})
}

// What a turn of a private chat teaches is not kept, though the chat may be private no more when it is reviewed.
func TestWhatWasLeftBehindTeachesNothing(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for _, left := range []string{"left_turn = %d", "reset_turn = %d", "private = 'on'", "mode = mode"} {
			ref := h.Begun("c"+left, left)
			set := strings.ReplaceAll(left, "%d", fmt.Sprint(ref.TurnID))
			storetest.Exec(t, h.DB, fmt.Sprintf("UPDATE sessions SET %s WHERE id = %d", set, ref.SessionID))
			h.Commit(ref, agent.Step{Plan: &agent.PlanRow{Goal: "g", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskExec}}}}})
			h.Commit(ref, agent.Step{Tasks: []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskRunning}}})
			h.Commit(ref, agent.Step{Tasks: []agent.TaskChange{{Type: agent.TaskExec, State: agent.TaskDone, Result: &tools.Result{End: tools.EndOK}}}})
			h.Commit(ref, agent.Step{Review: &agent.Review{Status: "ok", Learn: "of " + left}})
		}
		h.WantCount(1, "SELECT count(*) FROM memories WHERE text = 'of mode = mode'")
		h.WantCount(1, "SELECT count(*) FROM memories")
	})
}
