package engine

import (
	"context"
	"os"
	"time"

	agentmemory "switchboard/agent/memory"
	"switchboard/agent/tools"
	web "switchboard/channels/api"
	"switchboard/router/core"
	"switchboard/router/memory"
	"switchboard/router/turns"
	"switchboard/store"
)

// fillMemory gives the service of memory what it needs; its commands are the router's by then.
func (e *Engine) fillMemory(of *store.Router) {
	m := e.memory
	m.Store, m.Change, m.Person, m.Called, m.Hide, m.Now, m.Log = e.embedder.Over(of), e.router.Change, e.router.Roster.Named, e.router.Roster.Called, e.router.Hide, time.Now, e.log
	m.Policy = &e.policy.Service
	m.Settings = func() agentmemory.Config { return e.settings.Now().Memory }
	m.Proposes = func() bool { return e.settings.Now().Agent.SelfEvolution }
}

var _ web.Eraser = (*Engine)(nil)

// Erasable counts what there is of somebody. core.ErrNotFound: nobody is called so, nor was.
func (e *Engine) Erasable(ctx context.Context, name string) (*memory.Erased, error) {
	return e.db.Router().Erasable(ctx, name)
}

// Erase takes what somebody said out of the database and the data folder. Errors as store.DB.Erase has them.
func (e *Engine) Erase(ctx context.Context, name string, keepOthers bool, by core.Actor) (*memory.Erased, error) {
	workspace := func(session int64) string { return turns.Workspace(e.settings.Now().DataDir, session) }
	return e.db.Erase(ctx, store.Erasure{
		Name: name, By: by, KeepOthers: keepOthers, Owner: e.owner.ID(), Unused: e.files.Discard,
		Own: func(session int64) error { return tools.RemoveWorkspace(workspace(session)) },
		Shared: func(session int64) bool {
			files, err := os.ReadDir(workspace(session))
			return err == nil && len(files) > 0
		},
	})
}
