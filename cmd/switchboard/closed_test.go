package main_test

import (
	"os"
	"strings"
	"testing"
	"time"
)

// A bot to which nobody may write says so, and what it logs of the first who tries lets
// them in as it stands.
func TestAFreshBotSaysHowToBeLetIn(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, "[channels.shut]\nkind = \"scripted\"\naddr = \"nowhere\"\ndm = \"disabled\"\n[channels.wide]\nkind = \"scripted\"\naddr = \"nowhere\"\ndm = \"open\"\n")
	r.log = &logBuffer{}
	r.up()
	log := r.log.String()
	for channel, mend := range map[string]string{"play": "identities = ['scripted:ID']", "shut": "dm = 'allowlist'"} {
		if strings.Count(log, `"nobody is let in on this channel","channel":"`+channel+`"`) != 1 || !strings.Contains(log, mend) {
			t.Errorf("%s: nothing says how to be let in", channel)
		}
	}
	if strings.Contains(log, `nobody is let in on this channel","channel":"wide"`) {
		t.Error("an open channel is called closed")
	}
	r.platform.Say("c1", "eve", "hello?")
	const begin = `"add_to_people":"`
	r.await("it is logged", 10*time.Second, func() bool { return strings.Contains(r.log.String(), begin) })
	_, line, _ := strings.Cut(r.log.String(), begin)
	line, _, _ = strings.Cut(line, `"`)
	if code := r.stop(10 * time.Second); code != 0 {
		t.Fatalf("exit %d", code)
	}
	settings, err := os.ReadFile(r.config)
	if err == nil {
		err = os.WriteFile(r.config, append(settings, "\n[[people]]\nname = \"eve\"\n"+line+"\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.log = &logBuffer{}
	r.up()
	if got := r.ask("eve", "/whoami", 10*time.Second); !strings.Contains(got, "You are eve") {
		t.Errorf("%q", got)
	}
	if strings.Contains(r.log.String(), `nobody is let in on this channel","channel":"play"`) {
		t.Error("it still says so")
	}
}
