package platforms_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/channels/slack/slacktest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/store/storetest"
)

// Platforms keep messages for a bot that is not there. A new bot leaves alone what was written
// before its first start, and one that was there answers what came while it was away.
func TestNewBotLeavesAloneWhatWasWrittenBefore(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := programtest.NewTelegramPlace(t, false)
			r := programtest.NewRig(t, nil, p.Settings())
			if kind == "postgres" {
				r.Append(fmt.Sprintf("[store]\nurl = %q\n", storetest.PostgresURL(t)))
			}
			p.Server.SetClock(func() time.Time { return time.Now().Add(-time.Minute) })
			p.Say(0, "/whoami")
			p.Server.SetClock(time.Now)
			r.Ready()
			r.Await("it is taken", programtest.Patience, func() bool { return !p.Pending() })
			p.Say(0, "/status")
			r.Await("what is written now is answered", programtest.Patience, func() bool { return len(p.Shown(0)) > 0 })
			r.Stop(10 * time.Second)
			if got := p.Shown(0); len(got) != 1 || strings.Contains(got[0], "You are") {
				t.Errorf("shown are %q", got)
			}
			if n := strings.Count(r.Log.String(), "messages from before the first start are kept and not answered"); n != 1 {
				t.Errorf("it is logged %d times", n)
			}
			p.Say(0, "/whoami")
			r.Ready()
			r.Await("what came while it was away is answered", programtest.Patience, func() bool { return len(p.Shown(0)) > 1 })
			if got := p.Shown(0)[1]; !strings.Contains(got, "You are") {
				t.Errorf("it answers %q", got)
			}
		})
	}
}

// With two workspaces the settings take an ID only with its team, and so what is said of somebody
// who is not let in has it.
func TestHintsOfTwoWorkspacesWriteTheTeam(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, nil, "")
	acme, other := slacktest.New(t), slacktest.New(t)
	for name, s := range map[string]*slacktest.Server{"acme": acme, "other": other} {
		r.Append(fmt.Sprintf("[channels.%s]\nkind = \"slack\"\nbot_token = %q\napp_token = %q\napi_url = %q\n", name, s.BotToken(), s.AppToken(), s.APIURL()))
	}
	r.Ready()
	if !r.Log.Has("identities = ['slack:WORKSPACE/ID']") {
		t.Error("how somebody is let in is said without the workspace")
	}
	eve := acme.AddUser("Eve")
	acme.Say(eve.ID, "hello?")
	const begin = `"add_to_people":"`
	r.Await("it is logged", programtest.Patience, func() bool { return r.Log.Has(begin) })
	_, line, _ := strings.Cut(r.Log.String(), begin)
	line, _, _ = strings.Cut(line, `"`)
	if refused, _, _ := r.Command("person", "refused"); !strings.Contains(refused, "slack:"+acme.Team()+"/"+eve.ID) {
		t.Errorf("the list of who was refused has\n%s", refused)
	}
	r.Stop(10 * time.Second)
	r.Append("[[people]]\nname = \"eve\"\nrole = \"admin\"\n" + line + "\n")
	r.Ready()
	acme.Say(eve.ID, "/whoami")
	r.Await("she is let in", programtest.Patience, func() bool {
		shown := acme.FromBot(acme.Direct(eve.ID))
		return len(shown) > 0 && strings.Contains(shown[0].Seen, "You are")
	})
}
