// Package socket has the calls that administer a running program, which are answered on its socket alone, and the types of
// their answers. It puts the whole API together.
package socket

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"switchboard/channels"
	web "switchboard/channels/api"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/live"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/router"
	"switchboard/router/browsers"
	"switchboard/router/core"
	"switchboard/router/memory"
	"switchboard/router/people"
	"switchboard/router/tokens"
	"switchboard/store"
)

// A Server answers for whoever runs the program.
type Server struct {
	web.Deps // of which API adds what is found in the rest
	Store    *store.Router
	Router   *router.Router
	Tokens   *tokens.Service
	Settings *live.Settings
	Browsers *browsers.Service
	PageURL  func() string // where the page is; empty: nowhere
}

// A SignIn is a link to the page.
type SignIn struct {
	Person string `json:"person"`
	Link   string `json:"link"`
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
	s.Owner, s.People = access.Owner, s.Router.Roster
	s.Sessions, s.Chats, s.Turns, s.Approvals, s.Deliveries, s.JobReader = s.Store, s.Store, s.Store, s.Store, s.Store, s.Store
	s.Changer, s.Poster = s.Router, s.Router.Messages
	s.Models = func() []string { return slices.Sorted(maps.Keys(s.Settings.Now().LLM.Models)) }
	s.Currency = func() string { return s.Settings.Now().Budget.Currency }
	s.Statuses = func() []channels.Status {
		return access.Statuses(s.Router.Connections.Statuses(), s.Settings.Now())
	}
	return web.New(s.Deps, func(a *web.API) {
		add := adderTo(a)
		readRoutes(add, s.Store, s.Settings.Now)
		s.peopleRoutes(add)
		s.secretRoutes(add)
		s.tokenRoutes(add)
		s.settingsRoutes(add)
		add("POST /v1/signin", func(r *http.Request) (any, error) {
			return s.signIn(r.Context(), cmp.Or(r.FormValue("person"), access.Owner))
		})
		add("GET /v1/commands", func(r *http.Request) (any, error) { return s.Router.Completions(r.FormValue("person")), nil })
		add("GET /v1/config", func(*http.Request) (any, error) { return RunningWith(s.Settings.Now()), nil })
	})
}

// signIn makes a link for a person.
func (s Server) signIn(ctx context.Context, name string) (*SignIn, error) {
	p := s.Router.Roster.Named(name)
	switch at := s.PageURL(); {
	case p == nil:
		return nil, api.Failed(http.StatusNotFound, "", "there is nobody called %q; \"switchboard person list\" shows who there is", name)
	case at == "":
		return nil, api.Failed(http.StatusServiceUnavailable, "set server.listen, and start the bot", "the page is off")
	default:
		secret, err := s.Browsers.Link(ctx, p.Name, owner)
		return &SignIn{p.Name, at + "/signin#" + secret}, err
	}
}

// An answer is what is answered to a call, as JSON.
type answer = func(*http.Request) (any, error)

// An adder adds a call of a pattern as http.ServeMux takes it.
type adder func(pattern string, answer answer)

func adderTo(a *web.API) adder {
	return func(pattern string, answer answer) {
		method, path, _ := strings.Cut(pattern, " ")
		a.Plain(web.Call{
			Scope: web.Admin, Method: method, Path: path, Socket: true, ID: callID(method, path), Tag: "administration",
			Summary: cmp.Or(summaries[pattern], "Administration") + ". On the machine of the bot alone: 501 elsewhere.",
		}, answer)
	}
}

// summaries say what the calls do, by pattern.
var summaries = map[string]string{
	"GET /v1/commands":              "The commands that a person may give",
	"GET /v1/config":                "The settings that the bot runs with",
	"GET /v1/config/diff":           "What differs between the settings in use and the file",
	"GET /v1/config/versions":       "The versions of the settings",
	"POST /v1/config/set":           "Change settings",
	"POST /v1/config/confirm":       "Keep a change of settings that waits for it",
	"POST /v1/config/unset":         "Take settings back to what the file or the default says",
	"POST /v1/config/undo":          "Go back to a former version of the settings",
	"POST /v1/config/save":          "Write the settings in use to the file",
	"GET /v1/credentials":           "The names of the stored secrets, and what uses them",
	"POST /v1/credentials/{name}":   "Store a secret",
	"DELETE /v1/credentials/{name}": "Remove a secret",
	"GET /v1/people":                "The people whom the bot knows",
	"GET /v1/people/refused":        "Who wrote and was not let in",
	"POST /v1/people/claims":        "Make a code with which somebody becomes an admin",
	"POST /v1/people/add":           "Add a person",
	"POST /v1/people/role":          "Change a person's role",
	"POST /v1/people/link":          "Give a person another account",
	"POST /v1/people/tools":         "Say which tools a person may use",
	"POST /v1/people/remove":        "Remove a person",
	"GET /v1/channels/rejected":     "Events of platforms that could not be read",
	"POST /v1/signin":               "Make a link that signs a person in to the page",
	"GET /v1/tokens":                "The API tokens, without their secrets",
	"POST /v1/tokens":               "Make an API token",
	"POST /v1/tokens/{name}/revoke": "Revoke an API token",
}

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
	add("GET /v1/people/refused", func(r *http.Request) (any, error) { return of.KeptOut(r.Context(), limit(r)) })
	readTokenRoutes(add, of, settings)
	add("GET /v1/channels/rejected", func(r *http.Request) (any, error) { return of.Rejected(r.Context(), limit(r)) })
	add("GET /v1/people", func(r *http.Request) (any, error) {
		people, away, err := of.Everyone(r.Context())
		return append(people, away...), err
	})
}

// ReadRoutes are the calls that need no running program: they read what stands in the database.
func ReadRoutes(of *store.Router, settings *configs.Settings) http.Handler {
	return web.New(web.Deps{Log: slog.New(slog.DiscardHandler), Turns: of, Deliveries: of, JobReader: of, Owner: access.Owner, Memory: &memory.Service{Store: of}}, func(a *web.API) {
		readRoutes(adderTo(a), of, func() *configs.Settings { return settings })
	}).Socket()
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
		code, err := s.Router.Asking.NewClaim(r.Context(), "", owner)
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
