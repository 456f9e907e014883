//go:build linux

package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

type toolView struct {
	Name, Summary, Effect string
	Schema                map[string]any
	Taints                bool
}

// tools lists the tools that a token may name.
func (p *page) tools(token, query string) map[string]toolView {
	p.T.Helper()
	list := map[string]toolView{}
	a := p.call("GET", "/v1/tools"+query, token, nil)
	for _, tool := range into[struct{ Tools []toolView }](p.T, a).Tools {
		list[tool.Name] = tool
	}
	return list
}

type executed struct {
	TurnID  string `json:"turn_id"`
	Session string
	State   string
	Output  string
	Error   *struct{ Code, Message, Hint string }
}

// execute runs a tool.
func (p *page) execute(token, tool, user string, args any, headers ...string) answer {
	p.T.Helper()
	body, err := json.Marshal(map[string]any{"user": user, "args": args})
	if err != nil {
		p.T.Fatal(err)
	}
	return p.call("POST", "/v1/tools/"+tool+"/execute", token, strings.NewReader(string(body)), headers...)
}

func TestToolsAreThosePeopleMayUse(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	p.Ready()
	ada, bob, all := p.tools(tokenAda, ""), p.tools(tokenBob, ""), p.tools(tokenAdmin, "")
	read := ada["workspace.read"]
	if read.Effect != "read" || read.Summary == "" || read.Schema["type"] != "object" || !all["http.get"].Taints {
		t.Errorf("%+v", read)
	}
	if _, may := ada["exec"]; may || len(bob) == 0 || len(bob) >= len(ada) || len(ada) >= len(all) || all["exec"].Schema["type"] != "object" {
		t.Errorf("ada may use %d, bob %d, of %d", len(ada), len(bob), len(all))
	}
	if got := p.tools(tokenAny, "?user=bob"); len(got) != len(bob) {
		t.Errorf("for bob: %d", len(got))
	}
	if got := p.tools(tokenAny, "?user=nobody"); len(got) != 0 {
		t.Errorf("for nobody: %d", len(got))
	}
	p.call("GET", "/v1/tools", tokenAny, nil).want(t, "for whom", http.StatusBadRequest, "bad_request")
	p.call("GET", "/v1/tools?user=bob", tokenAda, nil).want(t, "for another", http.StatusForbidden, "forbidden")
}

func TestToolIsExecutedUnderItsPersonsRights(t *testing.T) {
	t.Parallel()
	each(t, "[policy]\nask = [\"workspace.list\"]\n", func(t *testing.T, p *page) {
		do := func(tool, user string, args any) executed {
			t.Helper()
			a := p.execute(tokenAny, tool, user, args)
			if a.StatusCode != http.StatusOK {
				t.Errorf("%s: %s %s", tool, a.Status, a.body)
			}
			return into[executed](t, a)
		}
		if got := do("workspace.write", "ada", map[string]any{"path": "a.txt", "content": "milk\n<b>", "mode": "create"}); got.State != "done" || got.Error != nil || got.TurnID == "" {
			t.Errorf("%+v", got)
		}
		if got := do("workspace.read", "ada", map[string]any{"path": "a.txt"}); got.Output != "milk\n<b>" || got.Error != nil {
			t.Errorf("%+v", got)
		}
		if got := do("workspace.read", "ada", map[string]any{"path": "none.txt"}); got.State != "done" || got.Error == nil || got.Error.Code == "" || got.Error.Message == "" {
			t.Errorf("a file that is not there: %+v", got)
		}
		for tool, argument := range map[string]string{"workspace.read": "path", "exec": "command"} {
			got := do(tool, "bob", map[string]any{argument: "a.txt"})
			if got.State != "done" || got.Error == nil || got.Error.Message == "" || got.Output == "milk\n<b>" {
				t.Errorf("bob may not use %s: %+v", tool, got)
			}
			if explained, _, _ := p.Command("explain", "turn", got.TurnID); !strings.Contains(explained, tool) {
				t.Errorf("explain says %q", explained)
			}
		}
		p.execute(tokenAny, "none.such", "ada", nil).want(t, "no such tool", http.StatusNotFound, "not_found")
		p.execute(tokenAny, "workspace.read", "ada", map[string]any{"odd": 1}).want(t, "wrong arguments", http.StatusBadRequest, "bad_request")
		p.execute(tokenAny, "workspace.read", "ada", "text").want(t, "no object", http.StatusBadRequest, "bad_request")
		p.execute(tokenAda, "workspace.read", "bob", map[string]any{"path": "a"}).want(t, "for another", http.StatusForbidden, "forbidden")

		// What somebody has to allow first waits, and a stranger is told no more than that it was taken.
		a := p.execute(tokenAdmin, "workspace.list", "root", map[string]any{"path": nil})
		a.want(t, "an approval", http.StatusAccepted, "")
		if got := into[executed](t, a); got.State != "waiting" || got.Error != nil {
			t.Errorf("%+v", got)
		}
		before := len(p.Turns())
		a = p.execute(tokenAny, "workspace.read", "nobody", map[string]any{"path": "a.txt"})
		a.want(t, "a stranger", http.StatusAccepted, "")
		if got := into[executed](t, a); got.State != "queued" || got.TurnID == "" || len(p.Turns()) != before {
			t.Errorf("%+v", got)
		}

		// The same key is the same call.
		first := into[executed](t, p.execute(tokenAda, "workspace.read", "ada", map[string]any{"path": "b.txt"}, "Idempotency-Key", "k1"))
		second := into[executed](t, p.execute(tokenAda, "workspace.read", "ada", map[string]any{"path": "b.txt"}, "Idempotency-Key", "k1"))
		if first.TurnID == "" || first.TurnID != second.TurnID {
			t.Errorf("%+v, then %+v", first, second)
		}
		p.execute(tokenAda, "workspace.read", "ada", map[string]any{"path": "c.txt"}, "Idempotency-Key", "k1").want(t, "another call by that key", http.StatusConflict, "conflict")
	})
}

// What takes longer than a call may is answered before it is done.
func TestLongToolIsAnsweredBeforeItIsDone(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	p.Ready()
	began := time.Now()
	a := p.execute(tokenAdmin, "exec", "root", map[string]any{"command": "sleep 25; echo late"})
	took := time.Since(began)
	a.want(t, "a long command", http.StatusAccepted, "")
	got := into[executed](t, a)
	if got.State != "running" || took < 19*time.Second {
		t.Errorf("%+v after %s", got, took)
	}
	p.said(tokenAdmin, got.Session, "late")
}
