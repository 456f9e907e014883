package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
)

// What the service of [policy] service does not allow is not run and not remembered: the person is told, and /why, explain and the
// audit log name it. Other settings count at once.
func TestPolicyServiceIsObeyed(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Input map[string]string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Header.Get("Authorization") != "Bearer t0ken-for-opa" {
			t.Errorf("%v, %v", err, r.Header)
		}
		in := q.Input
		refuses := in["tool"] == "exec" && in["person"] == "u1" && in["role"] == "admin" && in["scope"] == "person:u1" || in["kind"] == "rule" && in["scope"] == "global"
		_ = json.NewEncoder(w).Encode(map[string]any{"result": map[string]any{"allow": !refuses}})
	}))
	defer service.Close()
	set := fmt.Sprintf("service = %q\nservice_token = \"t0ken-for-opa\"\n", service.URL+"/v1/data/switchboard")
	r := programtest.PlannedBy(t, "[policy]\n"+set, programtest.Echo, "u1")
	r.Up()
	const run = `/tool exec {"command": "echo hi"}`
	if got := r.Ask("u1", run); !strings.HasPrefix(got, "I did not run exec (rule policy.service).") || !strings.Contains(got, "the service that decides what I may do does not allow it") {
		t.Errorf("told %q", got)
	}
	if got := r.Ask("u1", "/why"); !strings.Contains(got, "the service that decides what I may do does not allow it") {
		t.Errorf("/why says %q", got)
	}
	r.Prints("explain turn 1", 0, "refused by rule policy.service: the service that decides what I may do does not allow it")
	if got := r.Ask("u1", "/tool time"); strings.Contains(got, "policy") || strings.Contains(got, "did not") {
		t.Errorf("told %q", got)
	}
	const refused, silent = "The service that decides what I may remember does not allow that.", "The service that decides what I may remember does not answer. Please try again later."
	if got := r.Ask("u1", "/learn be brief"); !strings.HasPrefix(got, "Learned rule 1") {
		t.Errorf("told %q", got)
	}
	r.Answers("u1", "/memory always 1", refused)
	r.Answers("u1", "/learn always be brief", refused)
	r.Prints("doctor", 0, "ok    policy     the policy service answered in")

	service.Close()
	r.Answers("u1", "/remember the key rotates on Fridays", silent)
	r.Await("what it said is not known any more", 10*time.Second, func() bool {
		return strings.Contains(r.Ask("u1", `/tool exec {"command": "echo ho"}`), "the service that decides what I may do does not answer")
	})
	if out, _, _ := r.Command("doctor"); !programtest.Says(out, `FAIL  policy +the policy service does not answer: `) {
		t.Errorf("doctor says\n%s", out)
	}
	if n := r.Count("SELECT count(*) FROM audit WHERE outcome = 'refused' AND data LIKE '%policy.service%'"); n < 3 {
		t.Errorf("the audit log has %d refusals", n)
	}
	r.Refuses("config set policy.service \"\"", 2, "decides about admins too, so it is changed in the file alone")

	edit(r, set, "")
	r.Says("other settings count now", 1)
	r.Await("the command runs", 10*time.Second, func() bool { return strings.Contains(r.Ask("u1", run), "hi") })
	if files := r.Holds("t0ken-for-opa"); len(files) > 0 {
		t.Errorf("the token is in %v", files)
	}
}
