package web

import (
	"context"
	"math"
	"net/http"
	"slices"
	"time"

	"switchboard/router/money"
)

const (
	moneyDays = 30
	topSpent  = 10 // persons and conversations of today
	barWidth  = 10 // of a day, with the room around it
	barHeight = 100
)

// Money knows what was spent on models, and what was used of them.
type Money interface {
	money.Spender
	Usage(ctx context.Context, f money.UsageFilter) ([]money.Usage, error)
	SpentBy(ctx context.Context, day, person string) (money.Spent, error)
}

func (s *Site) moneyPages() {
	s.menu = append(s.menu, entry{Name: "money", Path: "/money", Label: "Money"})
	s.forAll("GET /money", s.money)
}

// A moneyBody is the page of what models cost.
type moneyBody struct {
	Until              time.Time // when today is over
	Today              []spentRow
	PerRun             string // the limit of a run; empty: there is none
	Everybody, Limited bool
	Days               *usageChart
	Others             []*usageChart // by person and by model
}

// A spentRow is what was spent today.
type spentRow struct {
	Of, Sum, Aside, Limit string // Aside and Limit: empty: there is none
	Part, Bar             int    // of the limit, in percent; Bar is that as far as it is shown
}

// A usageChart is what was used of models, with what is drawn of it.
type usageChart struct {
	Title, Head string
	Rows        []usageRow
	All         money.Usage
	Cost        string
	Tokens      bool // nothing cost anything, so tokens are drawn
	Most        string
	Width       int
}

// A usageRow is one sum, and its bar.
type usageRow struct {
	money.Usage
	Sum          string
	X, Y, Length int
}

func (s *Site) money(w http.ResponseWriter, r *http.Request) error {
	v, b, now := visitorOf(r), s.Budget(), time.Now()
	body := moneyBody{Until: b.Over(now), Everybody: v.admin(), Limited: b.Limited()}
	if b.PerRun > 0 {
		body.PerRun = b.Amount(b.PerRun)
	}
	var err error
	if body.Today, err = s.today(r.Context(), v, b, b.Day(now)); err == nil {
		err = s.charts(r.Context(), v, b, now, &body)
	}
	if err != nil {
		return err
	}
	return s.show(w, r, "money", "Money", "money", body)
}

// today is what was spent of each limit: of admins everybody's, else the person's own.
func (s *Site) today(ctx context.Context, v *visitor, b money.Budget, day string) (rows []spentRow, err error) {
	if !v.admin() {
		own, err := s.Money.SpentBy(ctx, day, v.person.Name)
		return []spentRow{newSpentRow(b, "You", own, b.PerPersonDay)}, err
	}
	list, err := s.Money.Spent(ctx, day, topSpent)
	if !slices.ContainsFunc(list, func(x money.Spent) bool { return x.Scope == string(money.SpentInAll) }) {
		list = append([]money.Spent{{Scope: string(money.SpentInAll)}}, list...)
	}
	list = slices.DeleteFunc(list, func(x money.Spent) bool { return x.Scope == string(money.SpentInSession) && b.PerSessionDay <= 0 })
	return spentRows(list, b), err
}

// spentRows are what was spent of each limit.
func spentRows(list []money.Spent, b money.Budget) (rows []spentRow) {
	for _, x := range list {
		switch money.SpendingScope(x.Scope) {
		case money.SpentByPerson:
			rows = append(rows, newSpentRow(b, x.Name, x, b.PerPersonDay))
		case money.SpentInSession:
			rows = append(rows, newSpentRow(b, "Chat "+x.Name, x, b.PerSessionDay))
		default:
			rows = append(rows, newSpentRow(b, "In all", x, b.PerDay))
		}
	}
	return rows
}

func newSpentRow(b money.Budget, of string, x money.Spent, limit float64) spentRow {
	row := spentRow{Of: of, Sum: b.Amount(x.Settled)}
	if x.Reserved > 0 {
		row.Aside = b.Amount(x.Reserved)
	}
	if limit > 0 {
		row.Limit, row.Part = b.Amount(limit), int(math.Round(100*x.Settled/limit))
		row.Bar = min(row.Part, 100)
	}
	return row
}

// charts fills in what was used by day, by person and by model.
func (s *Site) charts(ctx context.Context, v *visitor, b money.Budget, now time.Time, body *moneyBody) error {
	of := money.UsageFilter{Since: b.Day(now.AddDate(0, 0, 1-moneyDays)), By: "day"}
	if !v.admin() {
		of.Person, of.Since = v.person.Name, max(of.Since, b.Day(v.person.Since)) // somebody else may have been called so before
	}
	days, err := s.Money.Usage(ctx, of)
	if err != nil {
		return err
	}
	body.Days = newChart("By day", "Day", everyDay(days, b, now), b)
	for _, by := range []struct{ by, title, head string }{{"person", "By person", "Person"}, {"model", "By model", "Model"}} {
		if by.by == "person" && !v.admin() {
			continue
		}
		of.By = by.by
		list, err := s.Money.Usage(ctx, of)
		if err != nil {
			return err
		}
		body.Others = append(body.Others, newChart(by.title, by.head, list, b))
	}
	return nil
}

// everyDay are days in order, also those on which nothing was used.
func everyDay(list []money.Usage, b money.Budget, now time.Time) (days []money.Usage) {
	for back := range moneyDays {
		day := money.Usage{Name: b.Day(now.AddDate(0, 0, back+1-moneyDays))}
		if i := slices.IndexFunc(list, func(u money.Usage) bool { return u.Name == day.Name }); i >= 0 {
			day = list[i]
		}
		days = append(days, day)
	}
	return days
}

// newChart measures bars by what was paid, or, where all was free, by tokens.
func newChart(title, head string, list []money.Usage, b money.Budget) *usageChart {
	c := &usageChart{Title: title, Head: head, Width: len(list) * barWidth}
	for _, u := range list {
		c.All.Calls, c.All.TokensIn, c.All.CachedTokens = c.All.Calls+u.Calls, c.All.TokensIn+u.TokensIn, c.All.CachedTokens+u.CachedTokens
		c.All.TokensOut, c.All.Cost = c.All.TokensOut+u.TokensOut, c.All.Cost+u.Cost
	}
	c.Cost, c.Tokens = b.Amount(c.All.Cost), c.All.Cost == 0
	measure := func(u money.Usage) float64 {
		if c.Tokens {
			return float64(u.BilledTokens)
		}
		return u.Cost
	}
	most := 0.0
	for _, u := range list {
		if m := measure(u); m > most {
			most, c.Most = m, u.Name
		}
	}
	for i, u := range list {
		row := usageRow{Usage: u, Sum: b.Amount(u.Cost), X: i*barWidth + 1}
		if m := measure(u); m > 0 {
			row.Length = max(1, int(barHeight*m/most))
		}
		row.Y = barHeight - row.Length
		c.Rows = append(c.Rows, row)
	}
	return c
}
