package api

import (
	"net/http"
	"net/http/pprof"
)

// Metrics are what the program counts; served, they are the text that Prometheus reads.
type Metrics interface {
	http.Handler
	// RefusedCall counts a call that was refused: no right token or scope, or too many.
	RefusedCall()
}

// metricsCalls are for what watches the program from within.
func (a *API) metricsCalls() {
	a.handle(Call{Scope: Read, Method: http.MethodGet, Path: "/metrics", ID: "metrics", Tag: "about", Summary: "What the program counts, for Prometheus."},
		description{gives: schemas{"text/plain": textSchema}, about: "The text format of Prometheus."}, served(a.Metrics))
	if !a.PProf {
		return
	}
	for path, answer := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		a.handle(Call{Scope: Admin, Method: http.MethodGet, Path: "/debug/pprof/" + path, ID: "pprof" + path, Tag: "about", Summary: "Profiles of the running program, as Go's tools read them."},
			description{}, served(answer))
	}
}

// served is a handler that refuses by itself.
func served(h http.Handler) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		h.ServeHTTP(w, r)
		return nil
	}
}
