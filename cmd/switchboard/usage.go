package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"switchboard/cmd/switchboard/live"
	"switchboard/configs"
	"switchboard/router/money"
	"switchboard/store"
)

// usageCmd sums up what was used of models.
type usageCmd struct {
	By    string        `enum:"day,person,model,role" default:"day" help:"What to sum up by: day, person, model or role."`
	Since time.Duration `default:"720h" help:"From the day that was so long ago, e.g. 24h."`
	jsonFlag
}

// Run implements the command.
func (c *usageCmd) Run(a *app, settings *configs.Settings) error {
	now, err := live.Read(a.ctx, settings)
	if err != nil {
		return err
	}
	limits := now.Settings.Limits()
	return a.readDatabase(func(ctx context.Context, db *store.DB) error {
		rows, err := db.Usage(ctx, money.UsageFilter{By: c.By, Since: limits.Day(time.Now().Add(-c.Since))})
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(a.out, append([]money.Usage{}, rows...))
		}
		if len(rows) == 0 {
			_, err := fmt.Fprintln(a.out, "Nothing yet (the built-in model is not counted).")
			return err
		}
		all := money.Usage{Name: "in all"}
		for _, r := range rows {
			all.Calls, all.BilledTokens, all.TokensIn, all.TokensOut = all.Calls+r.Calls, all.BilledTokens+r.BilledTokens, all.TokensIn+r.TokensIn, all.TokensOut+r.TokensOut
			all.CachedTokens, all.Cost = all.CachedTokens+r.CachedTokens, all.Cost+r.Cost
		}
		head := strings.ToUpper(c.By) + "\tCALLS\tBILLED TOKENS\tIN\tCACHED\tOUT\tCOST"
		return printRows(a.out, false, head, append(rows, all), func(u money.Usage) []any {
			return []any{oneLine(u.Name, 60), u.Calls, u.BilledTokens, u.TokensIn, u.CachedTokens, u.TokensOut, limits.Amount(u.Cost)}
		})
	})
}
