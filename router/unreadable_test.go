package router_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
)

// A turn of which something is stored that cannot be read is given up like one that
// breaks the program, and holds neither its session nor a worker for ever.
func TestTurnThatCannotBeReadIsGivenUp(t *testing.T) {
	t.Parallel()
	a, _ := twins(t)
	raw, err := sql.Open("postgres", a.address)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	a.agent = acting(func(p play) error {
		if p.turn.Message.Text != "spoilt" {
			return p.answer("done")
		}
		err := p.plan(0, "go on", "step")
		_, spoilt := raw.ExecContext(t.Context(), "UPDATE plans SET secrets = '{'")
		return errors.Join(err, spoilt, errors.New("it broke"))
	})
	a.start()
	a.platform.Say("c1", "ada", "spoilt")
	a.platform.Say("c1", "ada", "next")
	sent := a.await(2)
	if !strings.Contains(sent[0].Text, "gave it up") || sent[1].Text != "done" {
		t.Errorf("sent %q", texts(sent))
	}
}
