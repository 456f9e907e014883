package routertest

import (
	"time"

	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/settings"
)

// Sets changes the setting a, to be confirmed within so long.
func (r *Rig) Sets(base int64, value string, within time.Duration) {
	r.T.Helper()
	err := r.Router.Change(r.T.Context(), &settings.Change{
		Kind: settings.Set, Base: base, Values: map[string]string{"a": value}, ConfirmWithin: within, Conversation: "play:c1",
	}, core.Actor{Person: "ada", Rule: audit.RulePeople})
	if err != nil {
		r.T.Error(err)
	}
}
