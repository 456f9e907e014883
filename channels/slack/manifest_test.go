package slack

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"switchboard/channels/slack/slacktest"
)

// The manifest makes an app that can do what the adapter does, and the doctor finds nothing missing.
func TestManifestHasWhatTheAdapterNeeds(t *testing.T) {
	t.Parallel()
	var m struct {
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
	if err := json.Unmarshal([]byte(Manifest), &m); err != nil {
		t.Fatal(err)
	}
	scopes, set := m.OAuth.Scopes.Bot, m.Settings
	if len(m.Features.Commands) != 1 || m.Features.Commands[0].Command != DefaultConfig().Command {
		t.Errorf("the commands are %+v", m.Features.Commands)
	}
	if m.Features.Agent == nil || !slices.Contains(scopes, "assistant:write") || !m.Features.Home.Messages || !set.Interactivity.Enabled || !set.Socket {
		t.Errorf("it lacks a feature: %+v", m)
	}
	if found := scopesOf(&self{scopes: scopes}); len(found) != 1 || !found[0].OK {
		t.Errorf("the doctor says of an app made from it: %+v", found)
	}
	if !slices.Equal(scopes, slacktest.DefaultScopes) {
		t.Errorf("the fake's tokens have the scopes %q, the manifest's %q", slacktest.DefaultScopes, scopes)
	}
	for _, event := range set.Subscribed.Bot {
		name, _, _ := strings.Cut(event, ".")
		if _, known := kinds[name]; !known {
			t.Errorf("it subscribes to %s, which the adapter does not know", event)
		}
	}
	for name, take := range kinds {
		if take != nil && !slices.ContainsFunc(set.Subscribed.Bot, func(event string) bool { return event == name || strings.HasPrefix(event, name+".") }) {
			t.Errorf("it does not subscribe to %s", name)
		}
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
