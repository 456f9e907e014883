package web

import (
	"context"
	"testing"
	"time"

	"switchboard/router/core"
)

// claimsOnce makes one code.
type claimsOnce struct{ Setup }

func (claimsOnce) Claim(context.Context, core.Actor) (string, error) { return "ABCD", nil }

// A claim code is shown as long as it is good, and none that was used, is too old or was made elsewhere.
func TestClaimCodeIsShownWhileItIsGood(t *testing.T) {
	t.Parallel()
	until := time.Now()
	s := &Site{Deps: Deps{Setup: claimsOnce{}, OpenClaim: func(context.Context) (time.Time, time.Time, error) { return time.Time{}, until, nil }}}
	if code := s.goodClaim(t.Context()); code != "" {
		t.Errorf("one that was made elsewhere is shown as %q", code)
	}
	if err := s.makeClaim(t.Context(), &visitor{person: &core.Person{}}); err != nil {
		t.Fatal(err)
	}
	if code := s.goodClaim(t.Context()); code != "ABCD" {
		t.Errorf("a good one is shown as %q", code)
	}
	for _, until = range []time.Time{{}, until.Add(-time.Hour)} {
		if code := s.goodClaim(t.Context()); code != "" {
			t.Errorf("one that was used is shown as %q", code)
		}
	}
}
