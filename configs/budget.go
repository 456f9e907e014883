package configs

import (
	"maps"
	"slices"
	"time"

	"switchboard/router/money"
)

// Limits are [budget] as the router goes by it; days are those of [scheduler] timezone.
func (s *Settings) Limits() money.Budget {
	zone, err := time.LoadLocation(s.Scheduler.TimeZone)
	if err != nil { // these settings were not taken
		zone = time.UTC
	}
	b := &s.Budget
	return money.Budget{Currency: b.Currency, Zone: zone, PerDay: b.PerDay, PerPersonDay: b.PerPersonDay, PerSessionDay: b.PerSession, PerRun: b.PerJobRun}
}

// Unpriced says of each model that may be asked, and of which nobody knows what it costs, what
// to mend: those of roles and fallbacks, and the aliases, which sessions may choose.
func (s *Settings) Unpriced() (faults []string) {
	models := slices.Concat(slices.Collect(maps.Values(s.Agent.Roles())), slices.Collect(maps.Keys(s.LLM.Models)))
	slices.Sort(models)
	for _, model := range slices.Compact(models) {
		if why := s.LLM.Unpriced(model); why != "" {
			faults = append(faults, why)
		}
	}
	return faults
}

func (b *binder) budget(s *Settings) {
	b.says(!currency.MatchString(s.Budget.Currency), "budget.currency", "%q is not a code of three capitals such as \"USD\"", s.Budget.Currency)
	limited := ""
	for _, limit := range []struct {
		key   string
		value float64
	}{
		{"budget.per_day", s.Budget.PerDay},
		{"budget.per_person_day", s.Budget.PerPersonDay},
		{"budget.per_session_day", s.Budget.PerSession},
		{"budget.per_job_run", s.Budget.PerJobRun},
	} {
		b.says(limit.value < 0, limit.key, "must not be negative; 0 means no limit")
		if limit.value > 0 && limited == "" {
			limited = limit.key
		}
	}
	if limited != "" {
		for _, why := range s.Unpriced() {
			b.says(true, limited, "cannot be kept: %s", why)
		}
	}
}
