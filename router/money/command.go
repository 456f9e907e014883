package money

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
)

// budgetShown is how many persons and conversations /budget lists.
const budgetShown = 5

// A Spender knows what was spent on models in a day, in all and by the top persons and
// sessions.
type Spender interface {
	Spent(ctx context.Context, day string, top int) ([]Spent, error)
}

// Command is the row of /budget. Limits are those that count now.
func Command(of Spender, limits func() Budget) commands.Command {
	return commands.Command{
		Name: "budget", Admin: true, About: commands.Text{
			EN: "what was spent on models today, and the limits", DE: "was heute für Modelle ausgegeben wurde, und die Grenzen",
			ES: "lo gastado hoy en modelos, y los límites", FR: "ce que les modèles ont coûté aujourd'hui, et les limites",
			IT: "quanto si è speso oggi per i modelli, e i limiti",
		},
		Run: func(ctx context.Context, c *commands.Call) (commands.Answer, error) {
			b, now := limits(), time.Now()
			list, err := of.Spent(ctx, b.Day(now), budgetShown)
			if err != nil {
				return commands.Answer{}, err
			}
			return budgetAnswer(b, list, now), nil
		},
	}
}

func budgetAnswer(b Budget, list []Spent, now time.Time) commands.Answer {
	var out strings.Builder
	fmt.Fprintf(&out, "Spent on models on %s, until %s:\n", b.Day(now), b.Over(now).Format("15:04 MST"))
	unlimited := !b.Limited()
	switch {
	case unlimited && len(list) == 0:
		out.Reset()
		out.WriteString("No limits are set; nothing was spent on models today.\n")
	case unlimited:
		out.WriteString("\nNo limits are set.\n")
	}
	for _, part := range []struct {
		scope SpendingScope
		title string
		limit float64
		key   string
	}{
		{SpentInAll, "in all", b.PerDay, "budget.per_day"},
		{SpentByPerson, "each person", b.PerPersonDay, "budget.per_person_day"},
		{SpentInSession, "each conversation", b.PerSessionDay, "budget.per_session_day"},
	} {
		spent := slices.DeleteFunc(slices.Clone(list), func(s Spent) bool { return s.Scope != string(part.scope) })
		if len(spent) == 0 && part.limit == 0 {
			continue
		}
		title := part.title
		if part.limit > 0 {
			title += fmt.Sprintf(", limit %s (%s)", b.Amount(part.limit), part.key)
		}
		out.WriteString("\n" + title + ":\n")
		for _, s := range spent {
			line := "- " + b.Amount(s.Settled)
			if s.Name != "" {
				line = "- " + render.Escape(words.OneLine(s.Name, 80)) + ": " + b.Amount(s.Settled)
			}
			if s.Reserved > 0 {
				line += ", and " + b.Amount(s.Reserved) + " set aside for calls that are being made"
			}
			if part.limit > 0 {
				line += fmt.Sprintf(", %.0f %%", 100*s.Settled/part.limit)
			}
			out.WriteString(line + "\n")
		}
		if len(spent) == 0 {
			out.WriteString("- nothing\n")
		}
	}
	if b.PerRun > 0 {
		fmt.Fprintf(&out, "\neach run of a job: limit %s (budget.per_job_run)\n", b.Amount(b.PerRun))
	}
	out.WriteString("\n`/config set budget.per_day 5` sets a limit, 0 takes it away. `switchboard usage` shows days, models and roles.")
	return commands.Answer{Text: out.String(), Taint: tools.Label}
}
