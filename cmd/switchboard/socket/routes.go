// Package socket has the calls that a running program answers on its socket, and the types of their answers.
package socket

import (
	"cmp"
	"errors"
	"net/http"
	"path/filepath"
	"strconv"

	"switchboard/agent/tools"
	"switchboard/channels/console"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/live"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/router/tokens"
	"switchboard/scheduler"
	"switchboard/store"
)

// A Server answers for whoever runs the program.
type Server struct {
	Console  *console.Channel
	Store    *store.Router
	Router   *router.Router
	Jobs     *jobs.Service
	Tokens   *tokens.Service
	Settings *live.Settings
}

// Running are the settings that a program runs with, credentials masked.
type Running struct {
	File     string          `json:"file"` // absolute; empty: none
	Settings []configs.Shown `json:"settings"`
}

// RunningWith are those of a program that runs with these settings.
func RunningWith(settings *configs.Settings) Running {
	r := Running{File: settings.File, Settings: settings.Show()}
	if abs, err := filepath.Abs(r.File); err == nil && r.File != "" {
		r.File = abs
	}
	return r
}

// Routes are the calls.
func (s Server) Routes() http.Handler {
	mux := http.NewServeMux()
	s.Console.Routes(mux)
	readRoutes(mux, s.Store, s.Settings.Now)
	s.peopleRoutes(mux)
	s.jobRoutes(mux)
	s.secretRoutes(mux)
	s.tokenRoutes(mux)
	s.settingsRoutes(mux)
	route(mux, "GET "+api.AlivePath, func(*http.Request) (any, error) { return map[string]bool{"alive": true}, nil })
	route(mux, "POST /v1/turns/{id}/cancel", func(r *http.Request) (any, error) {
		return struct{}{}, s.Router.Cancel(r.Context(), id(r), owner)
	})
	for _, kind := range []outbox.ChangeKind{outbox.RetryDelivery, outbox.DropDelivery} {
		route(mux, "POST /v1/deliveries/{id}/"+string(kind), func(r *http.Request) (any, error) {
			c := &outbox.Change{ID: id(r), Kind: kind}
			err := s.Router.Change(r.Context(), c, owner)
			return c.Done, err
		})
	}
	route(mux, "GET /v1/commands", func(r *http.Request) (any, error) { return s.Router.Completions(r.FormValue("person")), nil })
	route(mux, "GET /v1/channels", func(*http.Request) (any, error) {
		return access.Statuses(s.Router.Connections.Statuses(), s.Settings.Now()), nil
	})
	route(mux, "GET /v1/config", func(*http.Request) (any, error) { return RunningWith(s.Settings.Now()), nil })
	return mux
}

// owner is who makes the changes.
var owner = people.LocalActor(access.Owner)

// ReadRoutes are the calls that need no running program: they read what stands in the database.
func ReadRoutes(of *store.Router, settings *configs.Settings) http.Handler {
	mux := http.NewServeMux()
	readRoutes(mux, of, func() *configs.Settings { return settings })
	return mux
}

func readRoutes(mux *http.ServeMux, of *store.Router, settings func() *configs.Settings) {
	route(mux, "GET /v1/credentials", func(r *http.Request) (any, error) {
		list, err := of.Secrets(r.Context())
		uses := make([]SecretUse, len(list))
		for i, s := range list {
			uses[i] = SecretUse{s, settings().UsedBy(s.Name)}
		}
		return uses, err
	})
	route(mux, "GET /v1/turns", func(r *http.Request) (any, error) {
		return of.Turns(r.Context(), r.FormValue("state"), limit(r))
	})
	route(mux, "GET /v1/turns/{id}", func(r *http.Request) (any, error) {
		return of.Turn(r.Context(), id(r), r.FormValue("prompts") != "")
	})
	route(mux, "GET /v1/people/refused", func(r *http.Request) (any, error) { return of.KeptOut(r.Context(), limit(r)) })
	route(mux, "GET /v1/deliveries", func(r *http.Request) (any, error) {
		return of.Deliveries(r.Context(), r.FormValue("state"), limit(r))
	})
	readJobRoutes(mux, of)
	readTokenRoutes(mux, of, settings)
	route(mux, "GET /v1/channels/rejected", func(r *http.Request) (any, error) { return of.Rejected(r.Context(), limit(r)) })
	route(mux, "GET /v1/people", func(r *http.Request) (any, error) {
		people, away, err := of.Everyone(r.Context())
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

func id(r *http.Request) int64 { return number(r.PathValue("id")) }

// number is what is written; 0: nothing, or none.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func limit(r *http.Request) int {
	if n, err := strconv.Atoi(r.FormValue("limit")); err == nil && n > 0 {
		return n
	}
	return 50
}

// A ClaimCode is what a program answers who asks for one.
type ClaimCode struct {
	Code string `json:"code"`
}

// peopleRoutes change who is let in.
func (s Server) peopleRoutes(mux *http.ServeMux) {
	route(mux, "POST /v1/people/claims", func(r *http.Request) (any, error) {
		code, err := s.Router.Asking.NewClaim(r.Context(), owner)
		return ClaimCode{code}, err
	})
	for _, change := range []people.ChangeKind{people.ChangeAdd, people.ChangeRole, people.ChangeLink, people.ChangeTools, people.ChangeRemove} {
		route(mux, "POST /v1/people/"+string(change), func(r *http.Request) (any, error) {
			if err := r.ParseForm(); err != nil {
				return nil, err
			}
			c := &people.Change{Kind: change, Person: core.Person{
				Name: r.Form.Get("name"), Role: r.Form.Get("role"), Identities: r.Form["identity"], Tools: r.Form["tool"], TimeZone: r.Form.Get("timezone"),
			}}
			if change != people.ChangeAdd {
				people, away, err := s.Store.Everyone(r.Context())
				if err != nil {
					return nil, err
				}
				c.Person.Name = cmp.Or(core.Called(c.Person.Name, append(people, away...)), c.Person.Name)
			}
			if err := s.Settings.CheckPerson(c); err != nil {
				return nil, err
			}
			err := s.Router.Change(r.Context(), c, owner)
			return c.Now, err
		})
	}
}

// JobRuns are runs of a job, and the zone of their times.
type JobRuns struct {
	Zone string          `json:"zone"`
	Runs []scheduler.Run `json:"runs"`
}

// A JobSaid is a job as it is now, and what is to be said of it.
type JobSaid struct {
	Job  scheduler.Job `json:"job"`
	Said string        `json:"said"`
}

// readJobRoutes answer what stands of jobs in the database.
func readJobRoutes(mux *http.ServeMux, of *store.Router) {
	route(mux, "GET /v1/jobs", func(r *http.Request) (any, error) {
		person := r.FormValue("person")
		if person != "" {
			if _, err := of.Person(r.Context(), person); errors.Is(err, core.ErrNotFound) {
				return nil, jobs.UnknownPerson(person)
			} else if err != nil {
				return nil, err
			}
		}
		return of.Jobs(r.Context(), person, number(r.FormValue("after")), limit(r))
	})
	route(mux, "GET /v1/jobs/{id}/runs", func(r *http.Request) (any, error) {
		job, err := of.Job(r.Context(), id(r), "")
		if errors.Is(err, core.ErrNotFound) {
			return nil, jobs.Unknown(id(r))
		} else if err != nil {
			return nil, err
		}
		runs, err := of.Runs(r.Context(), id(r), number(r.FormValue("before")), limit(r))
		return JobRuns{job.Spec.Zone, runs}, err
	})
}

// jobRoutes show and change jobs, as whoever runs the program.
func (s Server) jobRoutes(mux *http.ServeMux) {
	route(mux, "GET /v1/jobs/{id}", func(r *http.Request) (any, error) {
		job, said, err := s.Jobs.Show(r.Context(), id(r))
		if err != nil {
			return nil, err
		}
		return JobSaid{*job, said}, nil
	})
	change := func(r *http.Request, c *jobs.Change, err error) (any, error) {
		if err == nil {
			err = s.Router.Change(r.Context(), c, owner)
		}
		if err != nil {
			return nil, err
		}
		return JobSaid{*c.Done, s.Jobs.Said(c)}, nil
	}
	route(mux, "POST /v1/jobs", func(r *http.Request) (any, error) {
		c, err := s.Jobs.Add(r.Context(), r.FormValue("person"), tools.NewJob{
			Kind: r.FormValue("kind"), When: r.FormValue("when"), Text: r.FormValue("text"), Zone: r.FormValue("zone"), To: r.FormValue("to"),
			Options: r.URL.Query()["option"],
		})
		return change(r, c, err)
	})
	route(mux, "POST /v1/jobs/{id}/{action}", func(r *http.Request) (any, error) {
		c, err := s.Jobs.Edit(r.Context(), access.Owner, tools.JobEdit{
			Job: id(r), Action: r.PathValue("action"), When: r.FormValue("when"), Text: r.FormValue("text"), Zone: r.FormValue("zone"),
			Options: r.URL.Query()["option"],
		})
		return change(r, c, err)
	})
}
