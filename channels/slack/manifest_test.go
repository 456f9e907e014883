package slack

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels/slack/slacktest"
)

// A manifest, as far as the adapter needs it.
type appManifest struct {
	Features struct {
		Commands []struct{ Command string } `json:"slash_commands"`
		Agent    *struct{}                  `json:"agent_view"`
		Home     struct {
			Messages bool `json:"messages_tab_enabled"`
		} `json:"app_home"`
	}
	OAuth    struct{ Scopes struct{ Bot []string } } `json:"oauth_config"`
	Settings struct {
		Subscribed struct {
			Bot []string `json:"bot_events"`
		} `json:"event_subscriptions"`
		Interactivity struct {
			Enabled bool `json:"is_enabled"`
		}
		Socket bool `json:"socket_mode_enabled"`
	}
}

func readManifest(t *testing.T, text string) (m appManifest) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// agentEvents are told to agents alone.
var agentEvents = []string{"agent_session_stopped", "app_home_opened"}

// The manifest makes an app that can do what the adapter does, and the doctor finds nothing missing. It
// makes no agent: that cannot be taken back.
func TestManifestHasWhatTheAdapterNeeds(t *testing.T) {
	t.Parallel()
	m := readManifest(t, Manifest)
	scopes, set := m.OAuth.Scopes.Bot, m.Settings
	if len(m.Features.Commands) != 1 || m.Features.Commands[0].Command != DefaultConfig().Command {
		t.Errorf("the commands are %+v", m.Features.Commands)
	}
	if m.Features.Agent != nil || (&self{scopes: scopes}).agent() || !m.Features.Home.Messages || !set.Interactivity.Enabled || !set.Socket {
		t.Errorf("it lacks a feature, or makes an agent: %+v", m)
	}
	if found := scopesOf(&self{scopes: scopes}); len(found) != 1 || !found[0].OK {
		t.Errorf("the doctor says of an app made from it: %+v", found)
	}
	if !slices.Equal(scopes, slacktest.DefaultScopes) {
		t.Errorf("the fake's tokens have the scopes %q, the manifest's %q", slacktest.DefaultScopes, scopes)
	}
	for _, event := range set.Subscribed.Bot {
		name, _, _ := strings.Cut(event, ".")
		if _, known := kinds[name]; !known || slices.Contains(agentEvents, event) {
			t.Errorf("it subscribes to %s, which the adapter does not know or agents alone are told", event)
		}
	}
	for name, take := range kinds {
		subscribed := slices.ContainsFunc(set.Subscribed.Bot, func(event string) bool { return event == name || strings.HasPrefix(event, name+".") })
		if take != nil && !subscribed && !slices.Contains(agentEvents, name) {
			t.Errorf("it does not subscribe to %s", name)
		}
	}
}

// An agent's manifest is the same with what an agent needs.
func TestAgentsManifestMakesTheSameAppAnAgent(t *testing.T) {
	t.Parallel()
	plain, agent := readManifest(t, Manifest), readManifest(t, AgentManifest)
	if agent.Features.Agent == nil || !(&self{scopes: agent.OAuth.Scopes.Bot}).agent() {
		t.Errorf("it makes no agent: %+v", agent)
	}
	agent.Features.Agent = nil
	agent.OAuth.Scopes.Bot = slices.DeleteFunc(agent.OAuth.Scopes.Bot, func(s string) bool { return s == "assistant:write" })
	events := &agent.Settings.Subscribed.Bot
	before := len(*events)
	*events = slices.DeleteFunc(*events, func(e string) bool { return slices.Contains(agentEvents, e) })
	if diff := cmp.Diff(plain, agent); diff != "" || before != len(*events)+len(agentEvents) {
		t.Errorf("%d events; %s", before, diff)
	}
}

// The guide shows the manifest that `switchboard init slack` prints.
func TestGuideShowsTheManifest(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/slack.md")
	if err != nil {
		t.Fatal(err)
	}
	if shown := "   " + strings.ReplaceAll(strings.TrimSpace(Manifest), "\n", "\n   ") + "\n"; !strings.Contains(string(guide), shown) {
		t.Errorf("docs/slack.md does not hold\n%s", shown)
	}
}
