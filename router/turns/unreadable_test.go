package turns_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"switchboard/router/routertest"
)

// A turn of which something is stored that cannot be read is given up like one that
// breaks the program, and holds neither its session nor a worker for ever.
func TestTurnThatCannotBeReadIsGivenUp(t *testing.T) {
	t.Parallel()
	a, _ := twins(t)
	raw, err := sql.Open("postgres", a.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	a.Agent = routertest.Acting(func(p routertest.Play) error {
		if p.Turn.Message.Text != "spoilt" {
			return p.Answer("done")
		}
		err := p.Plan(0, "go on", "step")
		_, spoilt := raw.ExecContext(t.Context(), "UPDATE plans SET secrets = '{'")
		return errors.Join(err, spoilt, errors.New("it broke"))
	})
	a.Start()
	a.Platform.Say("c1", "ada", "spoilt")
	a.Platform.Say("c1", "ada", "next")
	sent := a.Await(2)
	if !strings.Contains(sent[0].Text, "gave it up") || sent[1].Text != "done" {
		t.Errorf("sent %q", routertest.Texts(sent))
	}
}
