package jobs

import (
	"cmp"
	"slices"
	"strings"

	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/scheduler"
)

// set gives a job options, each a name and its value. Their owner may not have a run cost more than the settings
// say, and which file the model reads is for those to say who look after the machine.
func (d *Service) set(a *asking, job *scheduler.Job, options []string) error {
	was, admin := job.Rules, a.person.Role == core.RoleAdmin || a.machine
	for _, option := range options {
		name, value, _ := strings.Cut(strings.TrimSpace(option), " ")
		if err := job.Set(name, value, d.Now()); err != nil {
			return faulty("bad_arguments", "%v", err)
		}
		switch typed := a.typedBy(); {
		case strings.EqualFold(name, "budget") && (typed != "" || job.Rules.Budget != was.Budget):
			job.Rules.BudgetBy = typed
		case strings.EqualFold(name, "checklist") && admin:
			job.Rules.FileBy = cmp.Or(typed, a.person.Name)
		}
	}
	s, rules := d.Settings(), &job.Rules
	switch {
	case rules.Model != was.Model && rules.Model != "" && !slices.Contains(s.Models, rules.Model):
		return faulty("bad_arguments", "There is no model %q; there are %s.", words.OneLine(rules.Model, 60), strings.Join(s.Models, ", "))
	case rules.File != was.File && !admin:
		return faulty("not_permitted", "Only admins say which checklist a heartbeat has.")
	case rules.Budget == was.Budget || rules.Budget == 0:
		return nil
	case s.PerRun > 0 && rules.Budget > s.PerRun && !a.admin():
		return faulty("not_permitted", "A run may cost %g at most (budget.per_job_run); only an admin allows a job more, by a command.", s.PerRun)
	case len(s.Unpriced) > 0:
		return faulty("refused", "A budget needs the price of each model: %s", strings.Join(s.Unpriced, "; "))
	}
	return nil
}

// hasOption says that an option is called so.
func hasOption(name string) bool {
	return slices.ContainsFunc(scheduler.Options, func(o scheduler.Option) bool { return o.Name == name })
}
