package tools

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// jobs notes what it is asked for.
type jobs struct{ said []string }

func (j *jobs) note(call Call, what any) Result {
	j.said = append(j.said, fmt.Sprintf("%s %s %+v", call.Session.Person, call.Taint, what))
	return Result{End: EndOK}
}

func (j *jobs) AddJob(_ context.Context, call Call, job NewJob) Result  { return j.note(call, job) }
func (j *jobs) ListJobs(_ context.Context, call Call, l JobList) Result { return j.note(call, l) }
func (j *jobs) Keeps(_ context.Context, job NewJob) []string            { return []string{job.When, job.Text} }

func (j *jobs) DescribeChange(_ context.Context, _ Call, e JobEdit) Deed {
	return Deed{Words: fmt.Sprint(e.Action, e.Job)}
}
func (j *jobs) ChangeJob(_ context.Context, call Call, e JobEdit) Result { return j.note(call, e) }

func TestScheduleToolsHandOnWhatIsComplete(t *testing.T) {
	t.Parallel()
	var to jobs
	_, call := builtin(t, BuiltinConfig{Schedule: &to})
	for _, tt := range []struct{ tool, args, want string }{
		{"schedule.add", `{"kind":"reminder","when":"in 3 seconds to stretch","text":null,"zone":null}`, "Ann web {Kind:reminder When:in 3 seconds to stretch Text: Zone: To: Options:[]}"},
		{"schedule.add", `{"kind":"task","when":"at 9","text":"a","zone":"Europe/Rome"}`, "Ann web {Kind:task When:at 9 Text:a Zone:Europe/Rome To: Options:[]}"},
		{"schedule.list", `{"job":null,"all":true,"after":3}`, "Ann web {Job:0 All:true After:3}"},
		{"schedule.change", `{"job":3,"action":"skip","when":null,"text":null,"zone":null}`, "Ann web {Job:3 Action:skip When: Text: Zone: Options:[]}"},
		{"schedule.send", `{"to":"bob","when":"at 9","text":"a","zone":null}`, "Ann web {Kind:message When:at 9 Text:a Zone: To:bob Options:[]}"},
		{"schedule.add", `{"kind":"message","when":"at 9","text":"a","zone":null}`, ""},
		{"schedule.add", `{"kind":"reminder","when":"","text":"a","zone":null}`, ""},
		{"schedule.change", `{"job":0,"action":"skip","when":null,"text":null,"zone":null}`, ""},
		{"schedule.change", `{"job":3,"action":"snooze","when":null,"text":null,"zone":null}`, ""},
		{"schedule.send", `{"to":null,"when":"at 9","text":"a","zone":null}`, ""},
	} {
		to.said = nil
		res := call(tt.tool, tt.args, "web")
		switch {
		case tt.want == "" && (res.Code != "bad_arguments" || to.said != nil):
			t.Errorf("%s %s: %+v, handed on %q", tt.tool, tt.args, res, to.said)
		case tt.want != "" && (len(to.said) != 1 || to.said[0] != tt.want):
			t.Errorf("%s %s: %+v, handed on %q, want %s", tt.tool, tt.args, res, to.said, tt.want)
		}
	}
	for _, tt := range []struct{ tool, args, does, text string }{
		{"schedule.add", `{"kind":"task","when":"every\n\n minute","text":"a\nb","zone":"Asia/Tokyo"}`, "make a task, every minute, Asia/Tokyo", "a\nb"},
		{"schedule.send", `{"to":"bob","when":"at 9","text":"a","zone":null}`, "write to bob, at 9", "a"},
		{"schedule.add", `{"kind":3}`, "", ""},
		{"message.send", `{"to":"bob","text":"a"}`, "", ""},
	} {
		if does, text := ScheduleWords(tt.tool, tt.args); does != tt.does || text != tt.text {
			t.Errorf("%s %s: %q, %q", tt.tool, tt.args, does, text)
		}
	}
	if got := Written("message.send", `{"to":"bob","at":null,"text":"a\nb","n":3}`); got != `message.send(to: "bob", text: "a\nb", n: 3)` {
		t.Error(got)
	}
	effects := map[string]Effect{"schedule.add": EffectWrite, "schedule.change": EffectOutside, "schedule.send": EffectOutside}
	for _, tool := range Builtin(BuiltinConfig{Schedule: &to, Recipient: func(_ context.Context, _ Call, to string) (string, *Result) { return "to " + to + "!", nil }}) {
		if want := effects[tool.Name]; want != "" && tool.Effect != want {
			t.Errorf("%s: effect %s", tool.Name, tool.Effect)
		}
		if keeps := tool.Keeps != nil; keeps != (tool.Name == "schedule.add") || keeps && !slices.Equal(tool.Keeps(t.Context(), Call{Args: []byte(`{"when":"at 9","text":"a"}`)}), []string{"at 9", "a"}) {
			t.Errorf("%s keeps %t", tool.Name, keeps)
		}
		if tool.Name == "schedule.send" && tool.Means(t.Context(), Call{Args: []byte(`{"to":" bob "}`)}) != "to bob!" {
			t.Error("the question does not say to whom it goes")
		}
	}
	nobody := func(context.Context, Call, string) (string, *Result) { return "", &Result{Code: "no_recipient"} }
	for _, tool := range Builtin(BuiltinConfig{Schedule: &to, Recipient: nobody}) {
		if tool.Name == "schedule.send" && tool.Describe(t.Context(), Call{Args: []byte(`{"to":"bob"}`)}).Refused.Code != "no_recipient" {
			t.Error("somebody is asked about a message to nobody")
		}
	}
}
