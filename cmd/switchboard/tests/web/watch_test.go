package web_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// serving is a running program with the built-in model, an open port and a token for each scope, which is its name.
func serving(t *testing.T, settings string) (*programtest.Rig, func(token string) programtest.Web) {
	t.Helper()
	r := programtest.Bare(t)
	address := testkit.FreeAddress(t)
	r.Append("[server]\nlisten = \"" + address + "\"\n" + settings)
	for _, scope := range []string{"messages", "read", "admin"} {
		r.Append(programtest.Token(scope, []string{scope}))
	}
	r.Append("[[people]]\nname = \"ann\"\nrole = \"user\"\n")
	r.Ready()
	return r, func(token string) programtest.Web { return programtest.Web{Address: address, Token: token} }
}

// asked has the program answer a question of Ann's.
func asked(t *testing.T, web func(string) programtest.Web) {
	t.Helper()
	web("messages").Call(t, http.MethodPost, "/v1/messages", map[string]string{"session": "s", "user": "ann", "content": "what time is it?"}, http.StatusAccepted, nil)
	var session struct{ Messages []struct{ Text string } }
	web("read").Get(t, "/v1/sessions/s?after=1&wait=45s", &session)
	if len(session.Messages) != 1 || !strings.HasPrefix(session.Messages[0].Text, "It is ") {
		t.Fatalf("answered %v", session.Messages)
	}
}

func metricsOf(t *testing.T, web programtest.Web) string {
	t.Helper()
	status, text, err := web.Do(t.Context(), http.MethodGet, "/metrics", nil)
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET /metrics: %d %s, %v", status, text, err)
	}
	return string(text)
}

// What the dashboard, the alert rules and the guide name is there after one question, each metric with its labels.
func TestDashboardAndAlertsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	_, web := serving(t, "")
	asked(t, web)
	web("nobody").Call(t, http.MethodGet, "/v1/sessions", nil, http.StatusUnauthorized, nil)
	text := ""
	for _, of := range []string{
		`switchboard_messages_total{channel="api",direction="in"} 1`, `switchboard_messages_total{channel="api",direction="out"} 1`,
		`switchboard_deliveries_total{channel="api",state="sent"} 1`, `switchboard_tool_runs_total{state="ok",tool="time"} 1`,
		`switchboard_turn_seconds_count{phase="total"} 1`, `switchboard_refused_total{stage="http"} 1`, `switchboard_queue_depth 0`,
	} {
		testkit.Await(t, of, programtest.Patience, func() bool { // it is counted once it is told
			text = metricsOf(t, web("read"))
			return strings.Contains(text, "\n"+of+"\n")
		})
	}
	labels := map[string][]string{} // by metric
	for _, m := range regexp.MustCompile(`(?m)^(\w+)(?:\{(.*)\})? `).FindAllStringSubmatch(text, -1) {
		labels[m[1]] = []string{}
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			labels[m[1]] = append(labels[m[1]], l[1])
		}
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	read := func(name string) string {
		raw, err := os.ReadFile(filepath.Join(programtest.Root, "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if err := json.Unmarshal([]byte(read("grafana/dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	type expression struct{ of, expr, shows string }
	var all []expression
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all = append(all, expression{p.Title, target.Expr, target.LegendFormat})
		}
	}
	rules := regexp.MustCompile(`(?m)- alert: (\w+)\n +expr: (.+)\n(?:.+\n)*? +summary: (.+)$`).FindAllStringSubmatch(read("grafana/alerts.yaml"), -1)
	if len(rules) != 4 || len(all) < 15 {
		t.Fatalf("%d rules, %d expressions", len(rules), len(all))
	}
	for _, rule := range rules {
		all = append(all, expression{rule[1], rule[2], rule[3]})
	}
	named := map[string]bool{}
	for _, e := range all {
		metrics := regexp.MustCompile(`\b(?:switchboard|process|go)_\w+`).FindAllString(e.expr, -1)
		wanted := regexp.MustCompile(`\bby \(([\w, ]+)\)`).FindAllStringSubmatch(e.expr, -1)
		wanted = append(wanted, regexp.MustCompile(`\{(\w+)=`).FindAllStringSubmatch(e.expr, -1)...)
		wanted = append(wanted, regexp.MustCompile(`\{\{ ?(?:\$labels\.)?(\w+) ?\}\}`).FindAllStringSubmatch(e.shows, -1)...)
		for _, metric := range metrics {
			have, there := labels[metric]
			if !there {
				t.Errorf("%s: there is no %s", e.of, metric)
			}
			named[metric] = true
			for _, list := range wanted {
				for label := range strings.SplitSeq(list[1], ", ") {
					if !slices.Contains(have, label) && label != "job" && label != "instance" { // which Prometheus adds
						t.Errorf("%s: %s has no label %s", e.of, metric, label)
					}
				}
			}
		}
	}
	// Each metric of ours is shown, and stands in the table of the guide with its labels.
	for metric, have := range labels {
		name := cmp.Or(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(metric, "_bucket"), "_sum"), "_count"), metric)
		if !strings.HasPrefix(metric, "switchboard_") {
			continue
		}
		if !named[metric] && !named[name+"_bucket"] && !named[name+"_sum"] {
			t.Errorf("the dashboard does not show %s", metric)
		}
		row := regexp.MustCompile("(?m)^\\| `" + name + "(?:\\{([\\w,]+)\\})?` \\|").FindStringSubmatch(read("operations.md"))
		have = slices.DeleteFunc(have, func(label string) bool { return label == "le" })
		if row == nil || len(have) > 0 && !sameWords(row[1], have) {
			t.Errorf("docs/operations.md has no row of %s with %v: %q", name, have, row)
		}
	}
}

func sameWords(list string, of []string) bool {
	words := strings.Split(list, ",")
	slices.Sort(words)
	of = slices.Clone(of)
	slices.Sort(of)
	return slices.Equal(words, of)
}

// Who has no token learns whether it is ready and no more; profiles are for admins, where the settings say so.
func TestReadinessAndProfiles(t *testing.T) {
	t.Parallel()
	_, web := serving(t, "pprof = true\n")
	type ready struct {
		Ready    bool
		Channels []struct{ Name, State string }
	}
	var open, closed ready
	testkit.Await(t, "it is ready and its channels are connected", programtest.Patience, func() bool {
		open = ready{}
		web("read").Get(t, "/readyz", &open)
		return len(open.Channels) == 3 && open.Channels[0].Name == "api" && open.Channels[0].State == "connected" && open.Ready
	})
	answer, err := http.Get("http://" + web("").Address + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&closed); err != nil || answer.StatusCode != http.StatusOK || closed.Channels != nil || !closed.Ready {
		t.Errorf("/readyz without: %d, %+v, %v", answer.StatusCode, closed, err)
	}
	for _, path := range []string{"/debug/pprof/heap", "/debug/pprof/", "/debug/pprof/profile?seconds=1", "/debug/pprof/cmdline"} {
		status, text, err := web("admin").Do(t.Context(), http.MethodGet, path, nil)
		if err != nil || status != http.StatusOK || len(text) == 0 {
			t.Errorf("%s: %d, %d bytes, %v", path, status, len(text), err)
		}
		web("read").Call(t, http.MethodGet, path, nil, http.StatusForbidden, nil)
	}
	web("messages").Call(t, http.MethodGet, "/metrics", nil, http.StatusForbidden, nil)
}

// Without the setting there are no profiles; with it there are none where the port is not on loopback.
func TestProfilesStayOff(t *testing.T) {
	t.Parallel()
	_, web := serving(t, "")
	web("admin").Call(t, http.MethodGet, "/debug/pprof/heap", nil, http.StatusNotFound, nil)

	r := programtest.Bare(t)
	_, port, _ := strings.Cut(testkit.FreeAddress(t), ":")
	r.Append("[server]\nlisten = \"0.0.0.0:" + port + "\"\npprof = true\n" + programtest.Token("admin", []string{"admin"}))
	r.Ready()
	programtest.Web{Address: "127.0.0.1:" + port, Token: "admin"}.Call(t, http.MethodGet, "/debug/pprof/heap", nil, http.StatusNotFound, nil)
	r.Stop(10 * time.Second)
}

// What goes on on a platform is counted as it stands in the ledger: messages, sends, reminders, strangers and what is too long.
func TestCountsOfAPlatform(t *testing.T) {
	t.Parallel()
	address := testkit.FreeAddress(t)
	r := programtest.NewRig(t, []string{"ada"}, "[server]\nlisten = \""+address+"\"\n"+programtest.Token("read", []string{"read"}))
	r.Ready()
	r.Ask("ada", "hello")
	r.Ask("ada", "/remind in 1 second to stretch")
	r.Await("the reminder comes", 20*time.Second, func() bool { return len(r.Shown("ada")) == 3 })
	r.Ask("ada", strings.Repeat("long ", 20_000))
	r.Platform.Say("cmallory", "mallory", "let me in")
	r.Noted()
	web := programtest.Web{Address: address, Token: "read"}
	for _, line := range []string{
		`messages_total{channel="play",direction="in"} 2`, `messages_total{channel="play",direction="out"} 4`, `deliveries_total{channel="play",state="sent"} 4`,
		`deliveries_total{channel="play",state="dead"} 0`, `refused_total{stage="stranger"} 1`, `refused_total{stage="message"} 1`, `turn_seconds_count{phase="total"} 1`,
		`channel_up{channel="play"} 1`, `channel_defects_total{channel="play"} 0`, `job_lag_seconds 0`,
	} {
		r.Await(line, 20*time.Second, func() bool { return strings.Contains(metricsOf(t, web), "\nswitchboard_"+line+"\n") })
	}
	if text := metricsOf(t, web); !regexp.MustCompile(`(?m)^switchboard_job_runs_total\{state="done"\} [1-9]`).MatchString(text) {
		t.Error("the reminder is no run that is done")
	}
}
