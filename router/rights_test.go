package router

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"switchboard/agent/tools"
	shell "switchboard/agent/tools/command"
	"switchboard/router/core"
	"switchboard/router/sessions"
)

// Everything that rights are made of, each with each: role × what the person's tools name ×
// channel × direct chat or group × tool × mode × taint × stage (offered, planned, about to run). What is
// wanted is said as sets of what each part lets through; the rights are where all of them agree.
func TestRightsAreWhatAllPartsAllow(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		name   string
		effect tools.Effect
		sends  bool
	}{
		{"time", tools.EffectRead, false},
		{"workspace.write", tools.EffectWrite, false},
		{"http.get", tools.EffectRead, true},
		{"message.send", tools.EffectOutside, false},
		{"exec", tools.EffectWrite, false},
		{"exec", tools.EffectOutside, false}, // unconfined
		{"schedule.add", tools.EffectWrite, false},
		{"schedule.list", tools.EffectRead, false},
		{"schedule.change", tools.EffectOutside, false},
		{"schedule.send", tools.EffectOutside, false},
		{"admin.people", tools.EffectOutside, false},
		{"admin.config", tools.EffectOutside, false},
		{"admin.channels", tools.EffectOutside, false},
		{"admin.deliveries", tools.EffectOutside, false},
		{"admin.audit", tools.EffectRead, false},
	}
	jobs := []string{"schedule.add", "schedule.list", "schedule.change", "schedule.send"}
	admins := []string{"admin.people", "admin.config", "admin.channels", "admin.deliveries", "admin.audit"}
	but := slices.Concat([]string{"time", "workspace.write", "http.get", "message.send"}, jobs, admins)
	all := append([]string{"exec"}, but...)
	people := map[string]struct {
		tools []string
		named []string // the kinds that they let through for an admin
	}{
		"everything":   {[]string{"*"}, all},
		"groups":       {[]string{"files", "web"}, []string{"workspace.write", "http.get"}},
		"other groups": {[]string{"schedule", "admin"}, slices.Concat(jobs, admins)},
		"exec":         {[]string{"exec", "time"}, []string{"time", "exec"}},
		"nothing":      {nil, nil},
		"not patterns": {[]string{"["}, nil},
	}
	rules := map[string]struct {
		config ChannelConfig
		named  []string
	}{
		"open":     {ChannelConfig{ToolsAllow: []string{"*"}}, all},
		"platform": {DefaultChannelConfig(), but},
		"denied":   {ChannelConfig{ToolsAllow: []string{"time", "files", "exec"}, ToolsDeny: []string{"workspace.*"}}, []string{"time", "exec"}},
		"no jobs":  {ChannelConfig{ToolsAllow: []string{"*"}, ToolsDeny: []string{"schedule", "admin.config"}}, slices.DeleteFunc(slices.Clone(all), func(tool string) bool { return slices.Contains(jobs, tool) || tool == "admin.config" })},
		"empty":    {ChannelConfig{}, nil},
	}
	const mine, other = "http://mine.test/", "http://other.test/?q=read"
	stages := []struct {
		name, command, sends string
		refuses, asks        bool // by what is only known then
	}{
		{"offered", "", "", false, false},
		{"planned", "ls", "", false, false},
		{"planned what is denied", "ls; git push", "", true, false},
		{"planned what asks", "git fetch", "", false, true},
		{"runs", "ls", mine, false, false},
		{"runs with an address of others", "ls", other, false, false},
		{"runs what destroys", "rm -rf /", mine, true, false},
	}
	roles := []string{core.RoleAdmin, core.RoleUser, ""}

	var everybody []core.Person
	for name, p := range people {
		for _, role := range roles[:2] {
			everybody = append(everybody, core.Person{Name: name + " " + role, Role: role, Tools: p.tools})
		}
	}
	channels := map[string]ChannelConfig{}
	for name, r := range rules {
		channels[name] = r.config
	}
	policy := NewPolicy(rosterOf(t, everybody...), rulesOf(channels), PolicyConfig{
		Exec: shell.Rules{Deny: []string{"git push *"}, Ask: []string{"git fetch *"}, Allow: []string{"*"}},
	})
	asks := []string{"message.send", "schedule.send", "admin.people", "admin.config", "admin.channels", "admin.deliveries", "admin.audit"}
	cases := 0
	for person, p := range people {
		for _, role := range roles { // the last is nobody
			for channel, r := range rules {
				for _, direct := range []bool{true, false} {
					for _, kind := range kinds {
						for _, mode := range []string{sessions.ModeAct, sessions.ModeAsk, ""} {
							for _, taint := range []tools.Taint{tools.Clean, "web"} {
								for _, stage := range stages {
									exec := kind.name == tools.ExecName
									q := tools.Question{Person: person + " " + role, Channel: channel, Direct: direct, Mode: mode, Tool: kind.name, Effect: kind.effect, Taint: taint, Words: "read " + mine}
									if exec {
										q.Command = stage.command
									}
									if kind.sends {
										q.Sends = stage.sends
									}
									want := tools.Allow
									switch {
									case role == "", !slices.Contains(p.named, kind.name), !slices.Contains(r.named, kind.name),
										exec && role == core.RoleUser && person != "exec",
										slices.Contains(admins, kind.name) && (role != core.RoleAdmin || !direct),
										mode != sessions.ModeAct && kind.effect != tools.EffectRead,
										exec && stage.refuses:
										want = tools.Refuse
									case slices.Contains(asks, kind.name), exec && stage.asks,
										taint != tools.Clean && (kind.effect == tools.EffectOutside || q.Sends == other):
										want = tools.Ask
									}
									d := policy.Decide(q)
									if d.Verdict != want || d.Rule == "" || d.Reason == "" || d.Role != role {
										t.Errorf("%s, %s: %+v, want %s", stage.name, fmt.Sprintf("%+v", q), d, want)
									}
									cases++
								}
							}
						}
					}
				}
			}
		}
	}
	if cases != 6*3*5*2*15*3*2*7 {
		t.Errorf("%d cases", cases)
	}
	for _, tool := range tools.Names() { // or what is there is left out
		group, _, _ := strings.Cut(tool, ".")
		if (group == "admin" || group == "schedule") && !slices.Contains(but, tool) {
			t.Errorf("%s is not among the tools", tool)
		}
	}
}
