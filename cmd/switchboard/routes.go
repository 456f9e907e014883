package main

import (
	"errors"
	"net/http"
	"strconv"

	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/store"
)

// routes are what an engine answers on its socket.
func (e *engine) routes() http.Handler {
	mux := http.NewServeMux()
	e.console.Routes(mux)
	readRoutes(mux, e.db.Router(), e.settings)
	e.peopleRoutes(mux)
	e.jobRoutes(mux)
	e.secretRoutes(mux)
	e.settingsRoutes(mux)
	route(mux, "GET "+api.AlivePath, func(*http.Request) (any, error) { return map[string]bool{"alive": true}, nil })
	route(mux, "POST /v1/turns/{id}/cancel", func(r *http.Request) (any, error) {
		return struct{}{}, e.router.Cancel(r.Context(), id(r), people.LocalActor(ownerName))
	})
	for _, kind := range []outbox.ChangeKind{outbox.RetryDelivery, outbox.DropDelivery} {
		route(mux, "POST /v1/deliveries/{id}/"+string(kind), func(r *http.Request) (any, error) {
			c := &outbox.Change{ID: id(r), Kind: kind}
			err := e.router.Change(r.Context(), c, people.LocalActor(ownerName))
			return c.Done, err
		})
	}
	route(mux, "GET /v1/commands", func(r *http.Request) (any, error) { return e.router.Completions(r.FormValue("person")), nil })
	route(mux, "GET /v1/channels", func(*http.Request) (any, error) { return e.statuses(), nil })
	route(mux, "GET /v1/config", func(*http.Request) (any, error) { return runningSettings(e.settings()), nil })
	return mux
}

// readRoutes answers what needs no engine: what stands in the ledger.
func readRoutes(mux *http.ServeMux, ledger *store.Router, settings func() *configs.Settings) {
	route(mux, "GET /v1/credentials", func(r *http.Request) (any, error) {
		list, err := ledger.Secrets(r.Context())
		uses := make([]secretUse, len(list))
		for i, s := range list {
			uses[i] = secretUse{s, settings().UsedBy(s.Name)}
		}
		return uses, err
	})
	route(mux, "GET /v1/turns", func(r *http.Request) (any, error) {
		return ledger.Turns(r.Context(), r.FormValue("state"), limit(r))
	})
	route(mux, "GET /v1/turns/{id}", func(r *http.Request) (any, error) {
		return ledger.Turn(r.Context(), id(r), r.FormValue("prompts") != "")
	})
	route(mux, "GET /v1/people/refused", func(r *http.Request) (any, error) { return ledger.KeptOut(r.Context(), limit(r)) })
	route(mux, "GET /v1/deliveries", func(r *http.Request) (any, error) {
		return ledger.Deliveries(r.Context(), r.FormValue("state"), limit(r))
	})
	readJobRoutes(mux, ledger)
	route(mux, "GET /v1/channels/rejected", func(r *http.Request) (any, error) { return ledger.Rejected(r.Context(), limit(r)) })
	route(mux, "GET /v1/people", func(r *http.Request) (any, error) {
		people, away, err := ledger.Everyone(r.Context())
		return append(people, away...), err
	})
}

// route answers one path with what answer returns, as JSON.
func route(mux *http.ServeMux, pattern string, answer func(*http.Request) (any, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		value, err := answer(r)
		switch {
		case err == nil:
			api.Reply(w, http.StatusOK, value)
		case errors.Is(err, core.ErrNotFound):
			api.Refuse(w, http.StatusNotFound, core.ErrNotFound.Error()) // what is not there, who asks knows
		default:
			api.Refuse(w, http.StatusInternalServerError, err.Error())
		}
	})
}

func id(r *http.Request) int64 {
	n, _ := strconv.ParseInt(r.PathValue("id"), 10, 64) // 0 is nobody's
	return n
}

// number is what is asked for under a name; 0: nothing.
func number(r *http.Request, name string) int64 {
	n, _ := strconv.ParseInt(r.FormValue(name), 10, 64)
	return n
}

func limit(r *http.Request) int {
	if n, err := strconv.Atoi(r.FormValue("limit")); err == nil && n > 0 {
		return n
	}
	return 50
}
