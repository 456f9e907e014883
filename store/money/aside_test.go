package money_test

import (
	"errors"
	"fmt"
	"testing"

	"switchboard/router/money"
)

// What calls outside turns may cost counts towards the limits of all and of their person, and of no session.
func TestMoneyIsSetAsideForCallsOutsideTurns(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		of := money.Reservation{Most: 4, Day: "2026-11-29", Budget: money.Budget{PerDay: 10, PerPersonDay: 6, PerSessionDay: 1}}
		for person, want := range map[string]bool{"ada": true, "bob": true} {
			if err := h.Router.SetAside(h.Ctx, person, of); (err == nil) != want {
				t.Errorf("%s: %v", person, err)
			}
		}
		err := h.Router.SetAside(h.Ctx, "ada", of)
		if over, ok := errors.AsType[*money.OverLimitError](err); !ok || over.Scope != money.SpentInAll {
			t.Errorf("above the limit of all: %v", err)
		}
		if err := h.Router.Spend(h.Ctx, of.Day, "ada", 4, 3); err != nil {
			t.Fatal(err)
		}
		if err := h.Router.Spend(h.Ctx, of.Day, "bob", 4, 0); err != nil {
			t.Fatal(err)
		}
		err = h.Router.SetAside(h.Ctx, "ada", of)
		if over, ok := errors.AsType[*money.OverLimitError](err); !ok || over.Scope != money.SpentByPerson || over.Settled != 3 {
			t.Errorf("above the limit of the person: %v", err)
		}
		list, err := h.Router.Spent(h.Ctx, of.Day, 5)
		if got := fmt.Sprint(list); err != nil || got != "[{day  3 0} {person ada 3 0} {person bob 0 0}]" {
			t.Errorf("spent %s, %v", got, err)
		}
	})
}
