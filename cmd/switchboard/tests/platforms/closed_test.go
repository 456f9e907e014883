package platforms_test

import (
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// A bot to which nobody may write says so, and what it logs of the first who tries lets
// them in as it stands.
func TestAFreshBotSaysHowToBeLetIn(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, nil, "[channels.shut]\nkind = \"scripted\"\naddr = \"nowhere\"\ndm = \"disabled\"\n[channels.wide]\nkind = \"scripted\"\naddr = \"nowhere\"\ndm = \"open\"\n"+
		"[[people]]\nname = \"far\"\nrole = \"admin\"\nidentities = [\"slack:T1/U1\"]\n")
	r.Ready()
	log := r.Log.String()
	for channel, mend := range map[string]string{"play": "identities = ['scripted:ID']", "shut": "dm = 'allowlist'"} {
		if strings.Count(log, `"nobody may write on this channel yet","channel":"`+channel+`"`) != 1 || !strings.Contains(log, mend) {
			t.Errorf("%s: nothing says how to be let in", channel)
		}
	}
	if !strings.Contains(log, "to be an admin, send /claim ") {
		t.Error("an admin of a platform without a channel counts as one who can write")
	}
	if strings.Contains(log, `nobody may write on this channel yet","channel":"wide"`) {
		t.Error("an open channel is called closed")
	}
	r.Platform.Say("c1", "eve", "hello?")
	const begin = `"add_to_people":"`
	r.Await("it is logged", 10*time.Second, func() bool { return r.Log.Has(begin) })
	_, line, _ := strings.Cut(r.Log.String(), begin)
	line, _, _ = strings.Cut(line, `"`)
	r.Stop(10 * time.Second)
	r.Append("\n[[people]]\nname = \"eve\"\n" + line + "\n")
	r.Log = &testkit.Log{}
	r.Ready()
	if got := r.Ask("eve", "/whoami"); !strings.Contains(got, "You are eve") {
		t.Errorf("%q", got)
	}
	if r.Log.Has(`nobody may write on this channel yet","channel":"play"`) {
		t.Error("it still says so")
	}
}
