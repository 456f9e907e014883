package money_test

import (
	"testing"

	"switchboard/agent"
	"switchboard/router/money"
)

// A job's own limit was checked against a [budget] that may say less by now.
func TestRunCostsTheSmallerOfBothLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		settings, want float64
		terms          agent.Terms
	}{
		{0.01, 0.01, agent.Terms{Run: 1, Budget: 0.5}},
		{0.5, 0.01, agent.Terms{Run: 1, Budget: 0.01}},
		{0, 0.5, agent.Terms{Run: 1, Budget: 0.5}},
		{0.5, 0.5, agent.Terms{Run: 1}},
		{0.01, 0.5, agent.Terms{Run: 1, Budget: 0.5, Allowed: true}},
		{0.5, 0.5, agent.Terms{Run: 1, Allowed: true}},
		{0.5, 0, agent.Terms{}},
	} {
		if got := (money.Budget{PerRun: c.settings}).Under(c.terms).PerRun; got != c.want {
			t.Errorf("per_job_run %g under %+v: %g, want %g", c.settings, c.terms, got, c.want)
		}
	}
}
