package admin_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

func TestChannelListShowsEachState(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Echo, "u1")
	r.Append("[channels.off]\nkind = \"scripted\"\nenabled = false\naddr = \"/nowhere.sock\"\n")
	states := func() map[string]channels.Status {
		byName := map[string]channels.Status{}
		for _, s := range programtest.List[[]channels.Status](r, "channel", "list", "--json") {
			byName[s.Name] = s
		}
		return byName
	}

	out, errs, code := r.Command("channel", "list")
	if code != 0 || !strings.Contains(errs, "no engine is running") || !strings.Contains(out, "unknown") {
		t.Errorf("beside no engine: exit %d, %q, %q", code, out, errs)
	}
	if s := states(); len(s) != 3 || s["play"].State != "unknown" || s["off"].State != channels.StateDisabled {
		t.Errorf("beside no engine: %+v", s)
	}
	if r.Alive() {
		t.Error("the command became the engine")
	}

	r.Up()
	var s map[string]channels.Status
	r.Await("play and the console are connected", 10*time.Second, func() bool {
		s = states()
		return s["play"].State == channels.StateConnected && s["console"].State == channels.StateConnected
	})
	if s["off"].State != channels.StateDisabled || s["play"].Since.IsZero() || s["play"].LastFrame.IsZero() {
		t.Errorf("beside an engine: %+v", s)
	}
	r.Prints("channel list", 0, "connected")

	r.Platform.Revoke(true)
	r.Await("the refusal is seen", 10*time.Second, func() bool { return states()["play"].State == channels.StateError })
	out, _, code = r.Command("doctor")
	if code != 1 || !strings.Contains(out, "play has not been connected since ") || !strings.Contains(out, "credentials") {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
}

// A platform that is not there is told in words for people, whole, with the next try,
// and the doctor gives the same advice for the engine's channel as for its own question.
func TestUnreachablePlatformIsSaidPlainly(t *testing.T) {
	t.Parallel()
	gone := "http://" + testkit.FreeAddress(t)
	r := programtest.Bare(t)
	r.Append(fmt.Sprintf("[channels.tg]\nkind = \"telegram\"\ntoken = \"1:x\"\napi_url = %q\n", gone))
	r.Up()
	reason := regexp.MustCompile(`(?m)  cannot reach ` + regexp.QuoteMeta(gone) + `: connection refused( \(\d+ times since .+\))?; next try in \d+s$`)
	r.Await("the reason is told", 10*time.Second, func() bool { // between two tries
		out, _, _ := r.Command("channel", "list")
		return strings.Contains(out, "error") && reason.MatchString(out)
	})
	out, _, code := r.Command("doctor")
	if code != 1 || strings.Count(out, "fix: see whether this machine reaches the platform") != 2 || strings.Contains(out, "see the reason") {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
}
