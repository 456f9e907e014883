package api

import (
	"context"
	"testing"

	agentmemory "switchboard/agent/memory"
	"switchboard/router/core"
)

// joined has tommy be tom, an admin.
type joined struct{ People }

func (joined) Called(_ context.Context, name string) (string, error) { return name, nil }

func (joined) Named(name string) *core.Person {
	if name == "tommy" || name == "tom" {
		return &core.Person{Name: "tom", Role: core.RoleAdmin}
	}
	return nil
}

// Who was joined to another is asked and written to as that one, and lends nobody their rights.
func TestFormerNameIsThePerson(t *testing.T) {
	t.Parallel()
	a := &API{Deps: Deps{People: joined{}}}
	w, scope, err := a.writesMemory(t.Context(), &Caller{Token: "t", People: []string{"tom"}}, "tommy")
	if err != nil || w.Person != "tom" || scope != agentmemory.OfPerson("tom") {
		t.Errorf("%+v, %s, %v", w, scope, err)
	}
	former := &Caller{Token: "t", People: []string{"tommy"}}
	if w, scope, err := a.writesMemory(t.Context(), former, "tommy"); err == nil || a.forAdmin(former) {
		t.Errorf("by the former name: %+v, %s, speaks for an admin: %v", w, scope, a.forAdmin(former))
	}
}
