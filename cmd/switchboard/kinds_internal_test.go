package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"switchboard/channels/channelstest/scripted"
	"switchboard/configs"
	"switchboard/internal/testkit"
)

// A platform is its folder and one line, as docs/how-to-add-a-channel.md says.
func TestKindIsOneLine(t *testing.T) { // alone: the list is everybody's
	before := kinds
	t.Cleanup(func() { kinds = before })
	kinds = append(slices.Clip(before),
		scripted.Kind,
	)
	dir := t.TempDir()
	file := filepath.Join(dir, "switchboard.toml")
	ran := func(args ...string) string {
		var out bytes.Buffer
		run(append(args, "--config", file), streams{strings.NewReader(""), &out, &out}, []string{"HOME=" + dir})
		return out.String()
	}
	for _, c := range []struct{ settings, args, want string }{
		{"addr = \"/a.sock\"\nwindow = \"3m\"", "config check", "the settings are fine"},
		{"adr = \"/a.sock\"", "config check", `channels.scripted.adr: unknown key; did you mean "addr"?`},
		{"", "config check", "channels.scripted.addr: name the platform's socket"},
		{"addr = \"/a.sock\"\nwindow = \"3m\"", "config show", "channels.scripted.window"},
		{"addr = \"/a.sock\"", "channel list", "scripted"},
		{"", "init --help", "slack, discord or scripted"},
		{"", "init pigeon", "asks for model, telegram, slack, discord or scripted"},
		{"", "init scripted", "init scripted asks on a terminal"},
		{"", "completion bash", "scripted"},
	} {
		testkit.Write(t, file, "[channels.scripted]\nkind = \"scripted\"\n"+c.settings+"\n[[people]]\nname = \"ada\"\nidentities = [\"scripted:u1\"]\n")
		if out := ran(strings.Fields(c.args)...); !strings.Contains(out, c.want) {
			t.Errorf("%s with %q: %q does not say %q", c.args, c.settings, out, c.want)
		}
	}
	if table := matrix(t); !strings.Contains(table, "| Scripted |") {
		t.Errorf("the matrix is\n%s", table)
	}
}

// Init asks about every platform, and what it asks for stands in the settings that it writes.
func TestInitKnowsEveryKind(t *testing.T) {
	t.Parallel()
	for _, k := range append(slices.Clip(kinds), scripted.Kind) {
		ch := configs.AnsweredChannel{Kind: k.Name, Keys: map[string]string{}}
		for _, a := range k.Asks {
			ch.Keys[a.Key] = "env:SOME_TOKEN"
		}
		text := configs.Answers{Channels: []configs.AnsweredChannel{ch}}.Text()
		settings, _, err := configs.Parse(configs.Options{File: "/s.toml", Env: []string{"HOME=/"}, Kinds: append(slices.Clip(kinds), k)}, text)
		if err != nil || settings.Channels[k.Name].Kind != k.Name || len(k.Asks) == 0 {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
	for name := range fakes {
		if _, ok := kinds.Find(name); !ok {
			t.Errorf("dev has a fake of %q, which is no kind", name)
		}
	}
}
