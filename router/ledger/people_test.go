package ledger_test

import (
	"testing"

	"switchboard/router/ledger"
)

func TestCalled(t *testing.T) {
	t.Parallel()
	people := []ledger.Person{{Name: "BOB"}, {Name: "Bob"}, {Name: "bob"}, {Name: "Ann Noyce"}}
	for name, want := range map[string]string{"bob": "bob", "BOB": "BOB", "bOB": "", "ann noyce": "Ann Noyce", "ann": "", "": ""} {
		if got := ledger.Called(name, people); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
