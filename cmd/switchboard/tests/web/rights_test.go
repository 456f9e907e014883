//go:build linux

package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	web "switchboard/channels/api"
	"switchboard/cmd/switchboard/programtest"
)

// Every call that the OpenAPI document names, by every scope, by a token that speaks for one person and by one that names nobody:
// 403 without the scope, and with it nothing that is another person's.
func TestRightsOfEveryCall(t *testing.T) {
	t.Parallel()
	tokens := ""
	for _, scope := range allScopes {
		tokens += programtest.Token(scope+"-ada", []string{scope}, "ada") + programtest.Token(scope+"-any", []string{scope})
	}
	eachShop(t, tokens, func(t *testing.T, s *shop) {
		s.hears("admin", "root") // who is asked what bob may
		others := map[string]*possessions{"ada": s.owns("bob"), "any": s.owns("root")}
		var doc struct {
			Paths map[string]map[string]struct {
				OperationID string
				Security    []map[string][]string
			}
		}
		s.web("read-ada").Get(t, "/v1/openapi.json", &doc)
		calls := 0
		for path, methods := range doc.Paths {
			for method, call := range methods {
				if len(call.Security) != 1 || len(call.Security[0]["token"]) != 1 || !slices.Contains(allScopes, call.Security[0]["token"][0]) {
					t.Errorf("%s %s names no scope: %v", method, path, call.Security)
					continue
				}
				calls++
				for _, scope := range allScopes {
					for speaks, other := range others {
						status, answer := s.try(scope+"-"+speaks, method, other.in(path), other.body(call.OperationID))
						switch may := scope == call.Security[0]["token"][0]; {
						case status == http.StatusNotImplemented && strings.Contains(answer, "on the machine of the bot"):
						case !may && status != http.StatusForbidden:
							t.Errorf("%s %s with the scope %s is answered %d, %s", method, path, scope, status, answer)
						case may && status == http.StatusForbidden && !strings.Contains(answer, "forbidden"), may && status >= 500 && status != http.StatusNotImplemented:
							t.Errorf("%s %s: %d, %s", method, path, status, answer)
						case may && status < 300 && (strings.Contains(path, "{id}") && call.OperationID != "getAttachment" || strings.Contains(answer, other.secret)):
							t.Errorf("%s %s with %s-%s is answered with %s's: %d, %s", method, path, scope, speaks, other.person, status, answer)
						}
					}
				}
			}
		}
		if calls < 25 {
			t.Errorf("%d calls are named", calls)
		}
		for _, other := range others {
			var turn struct{ State string }
			s.web(other.person).Get(t, "/v1/turns/"+other.turn, &turn)
			if turn.State != "waiting" {
				t.Errorf("the turn of %s is %s", other.person, turn.State)
			}
		}
	})
}

// possessions are what somebody has, of which others get nothing.
type possessions struct {
	person, session, turn, approval, job, memory, secret string
}

// owns has somebody write, ask for what waits, and keep a job.
func (s *shop) owns(person string) *possessions {
	s.T.Helper()
	o := &possessions{person: person, session: "of." + person, secret: "secret-of-" + person}
	s.hears("of-"+person, person)
	o.turn = s.posts(person, person, o.session, "run echo "+o.secret)
	s.becomes(person, o.turn, "waiting")
	out, errs, code := s.Command("job", "add", "--person", person, "--json", "every day at 9", o.secret)
	var job struct{ ID string }
	if err := json.Unmarshal([]byte(out), &job); err != nil || code != 0 {
		s.T.Fatalf("%s %s", out, errs)
	}
	o.job = job.ID
	out, errs, code = s.Command("memory", "add", "--person", person, "--json", o.secret)
	var memories []struct{ ID string }
	if err := json.Unmarshal([]byte(out), &memories); err != nil || code != 0 || len(memories) != 1 {
		s.T.Fatalf("%s %s", out, errs)
	}
	o.memory = memories[0].ID
	var list web.ApprovalList
	s.Await("it waits", 20*time.Second, func() bool {
		if err := s.local().Do(s.T.Context(), localGet("/v1/approvals"), &list); err != nil {
			s.T.Fatal(err)
		}
		return len(list.Approvals) > 0
	})
	o.approval = fmt.Sprint(list.Approvals[len(list.Approvals)-1].ID)
	return o
}

// in is a call's path for what is theirs.
func (o *possessions) in(path string) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "/")
	id := map[string]string{"sessions": o.session, "turns": o.turn, "approvals": o.approval, "jobs": o.job, "memory": o.memory}[kind]
	if id == "" {
		id = "99"
	}
	return strings.NewReplacer("{id}", id, "{name}", "play", "{action}", map[bool]string{true: "forget", false: "run"}[kind == "memory"]).Replace(path)
}

// body is what a call of theirs takes.
func (o *possessions) body(call string) any {
	return map[string]any{
		"postMessage":    map[string]string{"session": o.session, "user": o.person, "content": "hello"},
		"decideApproval": map[string]string{"decision": "once", "person": o.person},
		"addJob":         web.NewJob{Person: o.person, Kind: "reminder", When: "every day at 9", Text: "x"},
		"addMemory":      web.NewMemory{Person: o.person, Text: "x"},
		"send":           map[string]string{"conversation": "none", "text": "x"},
	}[call]
}

// try makes a call, and reads the beginning of its answer.
func (s *shop) try(token, method, path string, body any) (status int, answer string) {
	s.T.Helper()
	text, err := json.Marshal(body)
	if body == nil {
		text = []byte("{}")
	}
	if err != nil {
		s.T.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.T.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, strings.ToUpper(method), "http://"+s.address+path, bytes.NewReader(text))
	if err != nil {
		s.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		s.T.Fatalf("%s %s: %v", method, path, err)
	}
	defer got.Body.Close()
	if strings.HasPrefix(got.Header.Get("Content-Type"), "text/event-stream") { // it does not end
		return got.StatusCode, ""
	}
	var all bytes.Buffer
	if _, err := all.ReadFrom(got.Body); err != nil {
		s.T.Fatal(err)
	}
	return got.StatusCode, all.String()
}
