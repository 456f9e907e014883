package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"switchboard/internal/api"
)

// Ready says whether the bot can do its work; nil: it can.
type Ready interface {
	Ready(ctx context.Context) error
}

// healthCalls are for what watches the program; they need no token.
func (a *API) healthCalls() {
	a.mux.HandleFunc("GET "+api.AlivePath, func(w http.ResponseWriter, _ *http.Request) {
		api.Reply(w, http.StatusOK, map[string]bool{"alive": true})
	})
	a.mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := a.Ready.Ready(r.Context()); err != nil {
			a.refuse(w, r, api.Failed(http.StatusServiceUnavailable, "look at the log", "the database cannot be asked, or this engine has lost its place"))
			return
		}
		api.Reply(w, http.StatusOK, map[string]bool{"ready": true})
	})
	a.handle(Call{Scope: Read, Method: http.MethodGet, Path: "/v1/openapi.json", ID: "openapi", Tag: "about", Summary: "This description."},
		huma.Operation{}, func(w http.ResponseWriter, _ *http.Request) { api.Reply(w, http.StatusOK, a.huma.OpenAPI()) })
}
