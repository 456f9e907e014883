package core_test

import (
	"testing"

	"switchboard/router/core"
)

func TestCalled(t *testing.T) {
	t.Parallel()
	people := []core.Person{{Name: "BOB"}, {Name: "Bob"}, {Name: "bob"}, {Name: "Ann Noyce"}}
	for name, want := range map[string]string{"bob": "bob", "BOB": "BOB", "bOB": "", "ann noyce": "Ann Noyce", "ann": "", "": ""} {
		if got := core.Called(name, people); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
