// Package socket has the calls that administer a running program, which are answered on its socket alone, and the types of
// their answers. It puts the whole API together.
package socket

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels"
	web "switchboard/channels/api"
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
	Log      *slog.Logger
	Ready    web.Ready
	Metrics  web.Metrics
	PProf    bool
	Console  *web.Channel // the terminal's
	Programs *web.Channel // that of programs
	Store    *store.Router
	Router   *router.Router
	Jobs     *jobs.Service
	Tokens   *tokens.Service
	Files    web.Files
	Tools    web.Tools
	Settings *live.Settings
	Model    web.Plainer
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

// API is every call there is, with those of the socket.
func (s Server) API() *web.API {
	a := web.New(web.Deps{
		Log: s.Log, Ready: s.Ready, Metrics: s.Metrics, PProf: s.PProf, Statuses: s.statuses, Channel: s.Programs, Console: s.Console, Owner: access.Owner, People: s.Router.Roster, Sessions: s.Store, Changer: s.Router, Models: s.models,
		Files: s.Files, Tools: s.Tools, Chats: s.Store, Model: s.Model,
	})
	add := func(pattern string, answer answer) {
		method, path, _ := strings.Cut(pattern, " ")
		a.Plain(web.Call{Scope: web.Admin, Method: method, Path: path, ID: callID(method, path), Tag: "administration", Socket: true}, answer)
	}
	readRoutes(add, s.Store, s.Settings.Now)
	s.peopleRoutes(add)
	s.jobRoutes(add)
	s.secretRoutes(add)
	s.tokenRoutes(add)
	s.settingsRoutes(add)
	add("POST /v1/turns/{id}/cancel", func(r *http.Request) (any, error) {
		return struct{}{}, s.Router.Cancel(r.Context(), id(r), owner)
	})
	for _, kind := range []outbox.ChangeKind{outbox.RetryDelivery, outbox.DropDelivery} {
		add("POST /v1/deliveries/{id}/"+string(kind), func(r *http.Request) (any, error) {
			c := &outbox.Change{ID: id(r), Kind: kind}
			err := s.Router.Change(r.Context(), c, owner)
			return c.Done, err
		})
	}
	add("GET /v1/commands", func(r *http.Request) (any, error) { return s.Router.Completions(r.FormValue("person")), nil })
	add("GET /v1/channels", func(*http.Request) (any, error) { return s.statuses(), nil })
	add("GET /v1/config", func(*http.Request) (any, error) { return RunningWith(s.Settings.Now()), nil })
	return a
}

// statuses are those of all channels that the settings have.
func (s Server) statuses() []channels.Status {
	return access.Statuses(s.Router.Connections.Statuses(), s.Settings.Now())
}

// models are those that a session may choose.
func (s Server) models() []string { return slices.Sorted(maps.Keys(s.Settings.Now().LLM.Models)) }

// An answer is what is answered to a call, as JSON.
type answer = func(*http.Request) (any, error)

// An adder adds a call of a pattern as http.ServeMux takes it.
type adder func(pattern string, answer answer)

// callID is the name of a call in the OpenAPI document: "get_v1_people_refused".
func callID(method, path string) string {
	return strings.Trim(strings.NewReplacer("/", "_", "{", "", "}", "").Replace(strings.ToLower(method)+path), "_")
}

// owner is who makes the changes.
var owner = people.LocalActor(access.Owner)

func readRoutes(add adder, of *store.Router, settings func() *configs.Settings) {
	add("GET /v1/credentials", func(r *http.Request) (any, error) {
		list, err := of.Secrets(r.Context())
		uses := make([]SecretUse, len(list))
		for i, s := range list {
			uses[i] = SecretUse{s, settings().UsedBy(s.Name)}
		}
		return uses, err
	})
	add("GET /v1/turns", func(r *http.Request) (any, error) {
		return of.Turns(r.Context(), r.FormValue("state"), limit(r))
	})
	add("GET /v1/turns/{id}", func(r *http.Request) (any, error) {
		return of.Turn(r.Context(), id(r), r.FormValue("prompts") != "")
	})
	add("GET /v1/people/refused", func(r *http.Request) (any, error) { return of.KeptOut(r.Context(), limit(r)) })
	add("GET /v1/deliveries", func(r *http.Request) (any, error) {
		return of.Deliveries(r.Context(), r.FormValue("state"), limit(r))
	})
	readJobRoutes(add, of)
	readTokenRoutes(add, of, settings)
	add("GET /v1/channels/rejected", func(r *http.Request) (any, error) { return of.Rejected(r.Context(), limit(r)) })
	add("GET /v1/people", func(r *http.Request) (any, error) {
		people, away, err := of.Everyone(r.Context())
		return append(people, away...), err
	})
}

// ReadRoutes are the calls that need no running program: they read what stands in the database.
func ReadRoutes(of *store.Router, settings *configs.Settings) http.Handler {
	mux := http.NewServeMux()
	readRoutes(func(pattern string, answer answer) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			value, err := answer(r)
			if err != nil {
				status := http.StatusInternalServerError
				if errors.Is(err, core.ErrNotFound) {
					status, err = http.StatusNotFound, core.ErrNotFound // what is not there, who asks knows
				}
				api.Refuse(w, api.Failed(status, "", "%v", err))
				return
			}
			api.Reply(w, http.StatusOK, value)
		})
	}, of, func() *configs.Settings { return settings })
	return mux
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
func (s Server) peopleRoutes(add adder) {
	add("POST /v1/people/claims", func(r *http.Request) (any, error) {
		code, err := s.Router.Asking.NewClaim(r.Context(), owner)
		return ClaimCode{code}, err
	})
	for _, change := range []people.ChangeKind{people.ChangeAdd, people.ChangeRole, people.ChangeLink, people.ChangeTools, people.ChangeRemove} {
		add("POST /v1/people/"+string(change), func(r *http.Request) (any, error) {
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
func readJobRoutes(add adder, of *store.Router) {
	add("GET /v1/jobs", func(r *http.Request) (any, error) {
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
	add("GET /v1/jobs/{id}/runs", func(r *http.Request) (any, error) {
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
func (s Server) jobRoutes(add adder) {
	add("GET /v1/jobs/{id}", func(r *http.Request) (any, error) {
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
	add("POST /v1/jobs", func(r *http.Request) (any, error) {
		c, err := s.Jobs.Add(r.Context(), r.FormValue("person"), tools.NewJob{
			Kind: r.FormValue("kind"), When: r.FormValue("when"), Text: r.FormValue("text"), Zone: r.FormValue("zone"), To: r.FormValue("to"),
			Options: r.URL.Query()["option"],
		})
		return change(r, c, err)
	})
	add("POST /v1/jobs/{id}/{action}", func(r *http.Request) (any, error) {
		c, err := s.Jobs.Edit(r.Context(), access.Owner, tools.JobEdit{
			Job: id(r), Action: r.PathValue("action"), When: r.FormValue("when"), Text: r.FormValue("text"), Zone: r.FormValue("zone"),
			Options: r.URL.Query()["option"],
		})
		return change(r, c, err)
	})
}
