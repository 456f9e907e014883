package api

import (
	"context"
	"net/http"
	"time"

	"switchboard/channels"
	"switchboard/internal/api"
)

// Ready says whether the bot can do its work; nil: it can.
type Ready interface {
	Ready(ctx context.Context) error
}

type readyOut struct {
	Ready    bool           `json:"ready"`
	Channels []readyChannel `json:"channels,omitempty"` // for tokens with the scope read
}

// A readyChannel is a channel without what only who runs the program is told.
type readyChannel struct {
	Name  string         `json:"name"`
	Kind  string         `json:"kind"`
	State channels.State `json:"state"`
	Since time.Time      `json:"since"`
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
		state := readyOut{Ready: true}
		if CallerOf(r.Context()).Has(Read) {
			for _, s := range a.Statuses() {
				state.Channels = append(state.Channels, readyChannel{s.Name, s.Kind, s.State, s.Since})
			}
		}
		api.Reply(w, http.StatusOK, state)
	})
	a.handle(Call{Scope: Read, Method: http.MethodGet, Path: "/v1/openapi.json", ID: "openapi", Tag: "about", Summary: "This description."},
		description{}, func(w http.ResponseWriter, _ *http.Request) error {
			api.Reply(w, http.StatusOK, a.huma.OpenAPI())
			return nil
		})
}
