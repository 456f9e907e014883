package web

import (
	"context"
	"strings"
	"testing"
	"time"

	"switchboard/router/core"
)

// claimsOnce makes one code.
type claimsOnce struct{ Setup }

func (claimsOnce) Claim(context.Context, core.Actor) (string, error) { return "ABCD", nil }

// waits has a channel that has no token.
type waits struct{ Setup }

func (waits) State() SetupState {
	return SetupState{Channels: []SetupChannel{{Name: "play", Title: "Play", Trouble: "no credentials are set"}}}
}

// A channel that is not connected is not done: the step says what it waits for.
func TestChannelStepSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	s := &Site{Deps: Deps{Setup: waits{}}}
	s.pages = s.templates()
	root := &visitor{person: &core.Person{Name: "root"}}
	b := s.setupOf(t.Context(), root, stepChannel)
	page, err := s.fragment(root, "setup-claim", b)
	if err != nil || b.Steps[1].Done || !strings.Contains(page, "not connected: no credentials are set.") || strings.Contains(page, "is on Play now") {
		t.Errorf("%+v, %v: %s", b.Steps[1], err, page)
	}
}

// A claim code is shown as long as it is good, and none that was used, is too old or was made elsewhere.
func TestClaimCodeIsShownWhileItIsGood(t *testing.T) {
	t.Parallel()
	until, root := time.Now(), &visitor{person: &core.Person{Name: "root"}}
	s := &Site{Deps: Deps{Setup: claimsOnce{}, OpenClaim: func(context.Context) (time.Time, time.Time, error) { return time.Time{}, until, nil }}}
	if code := s.goodClaim(t.Context(), root); code != "" {
		t.Errorf("one that was made elsewhere is shown as %q", code)
	}
	if err := s.makeClaim(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if code := s.goodClaim(t.Context(), root); code != "ABCD" {
		t.Errorf("a good one is shown as %q", code)
	}
	if code := s.goodClaim(t.Context(), &visitor{person: &core.Person{Name: "eve"}}); code != "" {
		t.Errorf("somebody else is shown %q, which would make their account that of root", code)
	}
	for _, until = range []time.Time{{}, until.Add(-time.Hour)} {
		if code := s.goodClaim(t.Context(), root); code != "" {
			t.Errorf("one that was used is shown as %q", code)
		}
	}
}
