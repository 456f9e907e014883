package tools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// What a tool of admins gives is one command with the words that its arguments name, and no word
// more.
func TestAdminToolsMakeOneCommandEach(t *testing.T) {
	t.Parallel()
	var given []string
	r, err := NewRegistry(Builtin(BuiltinConfig{Commander: func(_ context.Context, _ Call, name string, args ...string) Result {
		given = append(given, "/"+strings.Join(append([]string{name}, args...), " "))
		return Result{End: EndOK}
	}})...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ tool, args, gives string }{ // empty: nothing
		{"people", `{"action":"list"}`, "/people"},
		{"people", `{"action":"strangers"}`, "/allow"},
		{"people", `{"action":"let_in","identity":"telegram:5"}`, "/allow telegram:5"},
		{"people", `{"action":"let_in","identity":"telegram:5","name":"anna"}`, "/allow telegram:5 anna"},
		{"people", `{"action":"let_in","name":"anna"}`, ""},
		{"people", `{"action":"add","identity":"telegram:5","name":"anna"}`, "/people add anna telegram:5 user"},
		{"people", `{"action":"add","identity":"telegram:5","name":"anna","role":"admin"}`, "/people add anna telegram:5 admin"},
		{"people", `{"action":"add","identity":"telegram:5 admin","name":"anna"}`, ""},
		{"people", `{"action":"add","identity":"telegram:5\u00a0admin","name":"anna"}`, ""},
		{"people", `{"action":"role","name":"anna","role":"admin"}`, "/people role anna admin"},
		{"people", `{"action":"role","name":"anna","role":"owner"}`, ""},
		{"people", `{"action":"link","name":"anna","identity":"slack:U1"}`, "/people link anna slack:U1"},
		{"people", `{"action":"tools","name":"anna","tools":["web","time"]}`, "/people tools anna web time"},
		{"people", `{"action":"tools","name":"anna","tools":[]}`, ""},
		{"people", `{"action":"remove","name":"anna"}`, "/people remove anna"},
		{"people", `{"action":"remove"}`, ""},
		{"config", `{"action":"versions"}`, "/config"},
		{"config", `{"action":"get","key":"log"}`, "/config get log"},
		{"config", `{"action":"diff"}`, "/config diff"},
		{"config", `{"action":"set","key":"log.level","value":"debug"}`, "/config set log.level debug"},
		{"config", `{"action":"set","key":"log.level","value":"debug\nchannels.tg.dm open"}`, ""},
		{"config", `{"action":"set","key":"log.level debug\nchannels.tg.dm","value":"open"}`, ""},
		{"config", `{"action":"set","key":"log.level"}`, ""},
		{"config", `{"action":"confirm"}`, ""},
		{"config", `{"action":"unset","key":"log.level"}`, "/config unset log.level"},
		{"config", `{"action":"undo"}`, "/config undo"},
		{"config", `{"action":"undo","version":3}`, "/config undo 3"},
		{"channels", `{"action":"list"}`, "/channels"},
		{"channels", `{"action":"disable","name":"tg"}`, "/channel tg disable"},
		{"channels", `{"action":"test"}`, ""},
		{"deliveries", `{"action":"list"}`, "/deliveries"},
		{"deliveries", `{"action":"retry","number":7}`, "/deliveries retry 7"},
		{"deliveries", `{"action":"drop"}`, ""},
		{"audit", ``, "/audit"},
		{"audit", `{"person":"anna","kind":"turn","turn":3,"before":9}`, "/audit person anna kind turn turn 3 before 9"},
		{"audit", `{"kind":"turn\u2003person"}`, ""},
	} {
		given = nil
		args, _, fault := r.Typed("admin."+c.tool, json.RawMessage(c.args))
		res := Result{End: EndRefused}
		if fault == nil {
			res = r.Run(t.Context(), "admin."+c.tool, Call{Args: args})
		}
		if got := strings.Join(given, ";"); got != c.gives || (got == "") != (res.End == EndRefused) {
			t.Errorf("%s %s gives %q, want %q; %v, %+v", c.tool, c.args, got, c.gives, fault, res)
		}
	}
}
