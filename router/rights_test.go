package router

import (
	"fmt"
	"slices"
	"testing"

	"switchboard/agent/tools"
	shell "switchboard/agent/tools/command"
	"switchboard/router/ledger"
)

// Everything that rights are made of, each with each: role × what the person's tools name ×
// channel × tool × mode × taint × stage (offered, planned, about to run). What is wanted is
// said as sets of what each part lets through; the rights are where all of them agree.
//
// promise: P4.rights-at-run
// promise: P4.no-entry-no-service
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
	}
	people := map[string]struct {
		tools []string
		named []string // the kinds that they let through for an admin
	}{
		"everything":   {[]string{"*"}, []string{"time", "workspace.write", "http.get", "message.send", "exec"}},
		"groups":       {[]string{"files", "web"}, []string{"workspace.write", "http.get"}},
		"exec":         {[]string{"exec", "time"}, []string{"time", "exec"}},
		"nothing":      {nil, nil},
		"not patterns": {[]string{"["}, nil},
	}
	rules := map[string]struct {
		config ChannelConfig
		named  []string
	}{
		"open":     {ChannelConfig{ToolsAllow: []string{"*"}}, []string{"time", "workspace.write", "http.get", "message.send", "exec"}},
		"platform": {DefaultChannelConfig(), []string{"time", "workspace.write", "http.get", "message.send"}},
		"denied":   {ChannelConfig{ToolsAllow: []string{"time", "files", "exec"}, ToolsDeny: []string{"workspace.*"}}, []string{"time", "exec"}},
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
	roles := []string{ledger.RoleAdmin, ledger.RoleUser, ""}

	var all []ledger.Person
	for name, p := range people {
		for _, role := range roles[:2] {
			all = append(all, ledger.Person{Name: name + " " + role, Role: role, Tools: p.tools})
		}
	}
	channels := map[string]ChannelConfig{}
	for name, r := range rules {
		channels[name] = r.config
	}
	policy := NewPolicy(rosterOf(t, all...), rulesOf(channels), PolicyConfig{
		Ask:  DefaultPolicyConfig().Ask,
		Exec: shell.Rules{Deny: []string{"git push *"}, Ask: []string{"git fetch *"}, Allow: []string{"*"}},
	})
	cases := 0
	for person, p := range people {
		for _, role := range roles { // the last is nobody
			for channel, r := range rules {
				for _, kind := range kinds {
					for _, mode := range []string{ModeAct, ModeAsk, ""} {
						for _, taint := range []tools.Taint{tools.Clean, "web"} {
							for _, stage := range stages {
								exec := kind.name == tools.ExecName
								q := tools.Question{Person: person + " " + role, Channel: channel, Mode: mode, Tool: kind.name, Effect: kind.effect, Taint: taint, Words: "read " + mine}
								if exec {
									q.Command = stage.command
								}
								if kind.sends {
									q.Sends = stage.sends
								}
								want := tools.Allow
								switch {
								case role == "", !slices.Contains(p.named, kind.name), !slices.Contains(r.named, kind.name),
									exec && role == ledger.RoleUser && person != "exec",
									mode != ModeAct && kind.effect != tools.EffectRead,
									exec && stage.refuses:
									want = tools.Refuse
								case kind.name == "message.send", exec && stage.asks, taint != tools.Clean && q.Sends == other:
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
	if cases != 5*3*4*5*3*2*7 {
		t.Errorf("%d cases", cases)
	}
}
