package main

import (
	"errors"
	"net/http"
	"strconv"

	"switchboard/cmd/switchboard/local"
	"switchboard/router/ledger"
	"switchboard/store"
)

// routes are what an engine answers on its socket.
func (e *engine) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/console/", e.console.Handler())
	mux.HandleFunc("GET /alive", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]bool{"alive": true}, nil) })
	readRoutes(mux, e.db.Router())
	mux.HandleFunc("POST /turns/{id}/cancel", func(w http.ResponseWriter, r *http.Request) {
		reply(w, struct{}{}, e.router.Cancel(r.Context(), id(r)))
	})
	mux.HandleFunc("POST /deliveries/{id}/retry", func(w http.ResponseWriter, r *http.Request) {
		d, err := e.router.Lines.RetryDelivery(r.Context(), id(r), ledger.OwnerHand(ownerName))
		reply(w, d, err)
	})
	mux.HandleFunc("POST /deliveries/{id}/drop", func(w http.ResponseWriter, r *http.Request) {
		d, err := e.router.Lines.DropDelivery(r.Context(), id(r), ledger.OwnerHand(ownerName))
		reply(w, d, err)
	})
	mux.HandleFunc("GET /channels", func(w http.ResponseWriter, _ *http.Request) { reply(w, e.statuses(), nil) })
	mux.HandleFunc("GET /settings", func(w http.ResponseWriter, _ *http.Request) { reply(w, runningSettings(e.settings), nil) })
	return mux
}

// readRoutes answers what needs no engine: what stands in the ledger.
func readRoutes(mux *http.ServeMux, ledger *store.Router) {
	mux.HandleFunc("GET /turns", func(w http.ResponseWriter, r *http.Request) {
		list, err := ledger.Turns(r.Context(), r.FormValue("state"), limit(r))
		reply(w, list, err)
	})
	mux.HandleFunc("GET /turns/{id}", func(w http.ResponseWriter, r *http.Request) {
		turn, err := ledger.Turn(r.Context(), id(r), r.FormValue("prompts") != "")
		reply(w, turn, err)
	})
	mux.HandleFunc("GET /refused", func(w http.ResponseWriter, r *http.Request) {
		list, err := ledger.KeptOut(r.Context(), limit(r))
		reply(w, list, err)
	})
	mux.HandleFunc("GET /deliveries", func(w http.ResponseWriter, r *http.Request) {
		list, err := ledger.Deliveries(r.Context(), r.FormValue("state"), limit(r))
		reply(w, list, err)
	})
	mux.HandleFunc("GET /rejected", func(w http.ResponseWriter, r *http.Request) {
		list, err := ledger.Rejected(r.Context(), limit(r))
		reply(w, list, err)
	})
	mux.HandleFunc("GET /people", func(w http.ResponseWriter, r *http.Request) {
		list, err := ledger.People(r.Context())
		reply(w, list, err)
	})
}

func id(r *http.Request) int64 {
	n, _ := strconv.ParseInt(r.PathValue("id"), 10, 64) // 0 is nobody's
	return n
}

func limit(r *http.Request) int {
	if n, err := strconv.Atoi(r.FormValue("limit")); err == nil && n > 0 {
		return n
	}
	return 50
}

func reply(w http.ResponseWriter, value any, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, ledger.ErrNotFound) {
		status, err = http.StatusNotFound, ledger.ErrNotFound // what is not there, who asks knows
	}
	local.Reply(w, value, status, err)
}
