// Package api is the HTTP API: the channel of kind api, on which programs talk to the bot, and every call that is not the
// machine's own (those are in cmd/switchboard/socket). A resource is a file, with what it needs as small interfaces.
//
// The calls are behind two doors. The socket in the data folder is opened by whoever runs the program, who is no token and may
// do everything. On TCP every call needs a token (door.go), which has one scope for each call.
package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	agentmemory "switchboard/agent/memory"
	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/memory"
	"switchboard/router/outbox"
	"switchboard/router/sessions"
	"switchboard/router/turns"
)

const (
	// maxBody bounds the body of a call in JSON over TCP, in bytes: JSON may write a byte of a message of 64 KB as six. On the
	// socket it is maxLocalBody: what is too long there is refused with an answer in the chat.
	maxBody      = 6*maxContent + 64<<10
	maxLocalBody = 50 << 20
	// bodyWait is how long a body may take to come.
	bodyWait = 15 * time.Second
)

// Deps are what the calls need. To list what stands in the database Turns, Deliveries, JobReader and Memory are enough; else all are needed.
type Deps struct {
	Log      *slog.Logger
	Channel  *Channel // on which tokens talk
	Console  *Channel // on which whoever runs the program does
	Owner    string   // their name
	People   People
	Sessions SessionReader
	Changer  Changer
	Models   func() []string // that a session may choose
	Ready    Ready
	Statuses func() []channels.Status
	Metrics  Metrics
	PProf    bool // GET /debug/pprof is there
	Files    Files
	Tools    Tools
	Chats    Chatter
	Model    Plainer

	Turns      Turns
	Currency   func() string // that costs are in
	Approvals  Approvals
	Deliveries Deliveries
	JobReader  JobReader
	Jobs       Jobs
	Memory     *memory.Service
	Eraser     Eraser
	Poster     Poster
}

// People knows who there is.
type People interface {
	// Named is the person of that name, Identified who has one of the identities; nil: nobody.
	Named(name string) *core.Person
	Identified(identities ...string) *core.Person
	// Called is the name of who is called so in any case of letters, as it is written; empty: nobody is.
	Called(ctx context.Context, name string) (string, error)
}

// An API is every call.
type API struct {
	Deps
	mux   *http.ServeMux
	huma  huma.API
	built func() // makes the calls, the first time
	began time.Time
	chats Busy          // readers of each answer
	large chan struct{} // holds a place for each large body that is in memory
}

// inPath finds the parameters of a path.
var inPath = regexp.MustCompile(`\{(\w+)\}`)

var setErrors sync.Once

// New makes the API with further calls, which more adds; nil: none. The calls are made when the first of them comes: who talks to the bot
// elsewhere does not wait for them, nor hold them in memory.
func New(deps Deps, more func(*API)) *API {
	a := &API{Deps: deps, began: time.Now(), large: make(chan struct{}, largeAtOnce)}
	a.built = sync.OnceFunc(func() {
		a.build()
		if more != nil {
			more(a)
		}
	})
	return a
}

// build makes the calls.
func (a *API) build() {
	setErrors.Do(func() { huma.NewError, huma.DefaultArrayNullable = newError, false })
	config := huma.DefaultConfig("Switchboard", "1")
	config.CreateHooks, config.DocsPath, config.SchemasPath, config.OpenAPIPath = nil, "", "", "" // no $schema links, no page that loads from elsewhere
	config.Components.Schemas = huma.NewMapRegistry(schemaPath, named)
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {
		Type: "http", Scheme: "bearer", Description: "A token of [[server.tokens]], or one that \"switchboard token create\" made. Each call names the scope that it needs.",
	}}
	a.mux = http.NewServeMux()
	a.huma = humago.New(a.mux, config)
	a.healthCalls()
	a.metricsCalls()
	a.messageCalls()
	a.sessionCalls()
	a.fileCalls()
	a.toolCalls()
	a.chatCalls()
	a.selfCall()
	a.turnCalls()
	a.approvalCalls()
	a.deliveryCalls()
	a.jobCalls()
	a.memoryCalls()
	a.channelCalls()
	a.socketCall()
	idsAreText(config.Components.Schemas)
}

// schemaPath is where the OpenAPI document has its types.
const schemaPath = "#/components/schemas/"

// named is what a type is called in the OpenAPI document.
func named(t reflect.Type, hint string) string {
	if name := map[reflect.Type]string{
		reflect.TypeFor[sessions.Info](): "Session", reflect.TypeFor[outbox.Info](): "Delivery", reflect.TypeFor[turns.Message](): "TurnMessage", reflect.TypeFor[turns.Call](): "ModelCall",
		reflect.TypeFor[agentmemory.Entry](): "Memory", reflect.TypeFor[memory.Settings](): "MemorySettings", reflect.TypeFor[memory.Archive](): "MemoryArchive", reflect.TypeFor[memory.Imported](): "MemoryImported", reflect.TypeFor[memory.Erased](): "MemoryErased",
	}[t]; name != "" {
		return name
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// idsAreText says of the numbers that stand as text in JSON that they are text: huma does not know that option of a field's tag.
func idsAreText(registry huma.Registry) {
	for name, schema := range registry.Map() {
		for _, f := range reflect.VisibleFields(registry.TypeFromRef(schemaPath + name)) {
			field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if p := schema.Properties[field]; p != nil && strings.Contains(options, "string") {
				p.Type, p.Format = huma.TypeString, ""
			}
		}
	}
}

// newError has huma's own faults look like ours: what is wrong with a call is 400.
func newError(status int, message string, errs ...error) huma.StatusError {
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest
	}
	for _, err := range errs {
		if f, ok := errors.AsType[*api.Failure](err); ok {
			return f
		}
		if long, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return api.Failed(http.StatusRequestEntityTooLarge, "send less", "the body is larger than %d KB", long.Limit>>10)
		}
		if d, ok := errors.AsType[*huma.ErrorDetail](err); ok { // without the value, which may be secret
			message += ": " + strings.TrimPrefix(d.Location+": ", ": ") + d.Message
			continue
		}
		message += ": " + err.Error()
	}
	return api.Failed(status, "GET /v1/openapi.json says what each call takes", "%s", message)
}

// A Call is what there is to know of one besides its handler.
type Call struct {
	Scope   Scope
	Method  string
	Path    string
	ID      string // in the OpenAPI document
	Summary string
	Status  int // of success; 0: 200
	// Socket: it administers, and only whoever runs the program may make it for now.
	Socket bool
	Tag    string
}

// callsOf makes the calls of one kind of thing, which are below /v1/ and its name.
func callsOf(things string) func(scope Scope, method, path, id, summary string) Call {
	return func(scope Scope, method, path, id, summary string) Call {
		return Call{Scope: scope, Method: method, Path: "/v1/" + things + path, ID: id, Tag: things, Summary: summary}
	}
}

// operation is the call as the OpenAPI document has it.
func (a *API) operation(c Call) huma.Operation {
	return huma.Operation{
		OperationID: c.ID, Method: c.Method, Path: c.Path, Summary: c.Summary, DefaultStatus: c.Status, Tags: []string{c.Tag},
		MaxBodyBytes: maxLocalBody, BodyReadTimeout: bodyWait,
		Security: []map[string][]string{{"token": {string(c.Scope)}}},
		Middlewares: huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
			r, w := humago.Unwrap(ctx)
			caller := CallerOf(ctx.Context())
			if err := c.allowed(caller); err != nil {
				a.refuse(w, r, err)
				return
			}
			if !caller.Local {
				r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			}
			r.Header.Set("Content-Type", "application/json") // whatever it is called: curl -d says that it is a form
			next(ctx)
		}},
	}
}

// allowed refuses who may not make the call.
func (c *Call) allowed(caller *Caller) error {
	if c.Socket && !caller.Local {
		return api.Failed(http.StatusNotImplemented, "run the command on the machine of the bot, where it needs no token", "this call is served on the machine of the bot alone")
	}
	return caller.may(c.Scope)
}

// serve answers a call of a caller who is known.
func (a *API) serve(w http.ResponseWriter, r *http.Request) {
	a.built()
	if r.ContentLength != 0 { // there is a body
		r.Body = &timedBody{r.Body, http.NewResponseController(w)}
	}
	if _, pattern := a.mux.Handler(r); pattern == "" {
		w = &noCall{w, r}
	}
	a.mux.ServeHTTP(w, r)
}

// noCall gives the mux's own refusals our form.
type noCall struct {
	http.ResponseWriter
	r *http.Request
}

func (w *noCall) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	api.Refuse(w.ResponseWriter, api.Failed(status, "GET /v1/openapi.json lists the calls", "there is no call %s %.100s", w.r.Method, w.r.URL.Path))
}

func (w *noCall) Write(text []byte) (int, error) { return len(text), nil }

// register adds a call in plain JSON. Input has the parameters and the Body as huma's tags say.
func register[I, O any](a *API, c Call, answer func(context.Context, *I) (*O, error)) {
	type output struct{ Body *O }
	registerAs(a, a.operation(c), func(ctx context.Context, in *I) (*output, error) {
		out, err := answer(ctx, in)
		return &output{out}, err
	})
}

// registerAs adds a call as the OpenAPI document has it; output is as huma's tags say, too.
func registerAs[I, O any](a *API, op huma.Operation, answer func(context.Context, *I) (*O, error)) {
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := answer(ctx, in)
		if err != nil {
			return nil, a.failure(ctx, err)
		}
		return out, nil
	})
}

// handle adds a call that reads or answers something else than JSON. With an error answer has answered nothing yet.
func (a *API) handle(c Call, d description, answer func(http.ResponseWriter, *http.Request) error) {
	a.describe(c, d)
	a.mux.HandleFunc(c.Method+" "+c.Path, func(w http.ResponseWriter, r *http.Request) {
		err := c.allowed(CallerOf(r.Context()))
		if err == nil {
			err = answer(w, r)
		}
		if err != nil {
			a.refuse(w, r, err)
		}
	})
}

// refuse answers a call with what went wrong.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, err error) {
	api.Refuse(w, a.failure(r.Context(), err))
}

// failure is err as the caller is told it: of the program's own faults a token learns no more than that there was one.
func (a *API) failure(ctx context.Context, err error) error {
	if f, ok := errors.AsType[*api.Failure](err); ok {
		return f
	}
	if refused, ok := errors.AsType[*core.StateError](err); ok {
		return api.Failed(http.StatusConflict, "", "%s", refused.Sentence)
	}
	if refused, ok := errors.AsType[jobs.Refused](err); ok {
		status := map[string]int{"not_found": http.StatusNotFound, "unavailable": http.StatusServiceUnavailable}[refused.Code()]
		return api.Failed(cmp.Or(status, http.StatusBadRequest), "", "%v", err)
	}
	switch {
	case errors.Is(err, core.ErrNotFound):
		return api.Failed(http.StatusNotFound, "look at the name or number; the token may read what its lists show, such as GET /v1/sessions or /v1/turns", "%v", core.ErrNotFound)
	case errors.Is(err, sessions.ErrTaken):
		return api.Failed(http.StatusForbidden, "use another name for the session", "%v", sessions.ErrTaken)
	case errors.Is(err, core.ErrNotNow) && !CallerOf(ctx).Local:
		return api.Failed(http.StatusServiceUnavailable, "try again in a moment", "the database cannot be asked now")
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return api.Failed(http.StatusServiceUnavailable, "", "the client left")
	}
	a.Log.ErrorContext(ctx, "a call failed", "request_id", requestID(ctx), "token", CallerOf(ctx).Token, "error", err)
	if CallerOf(ctx).Local {
		return err
	}
	return api.Failed(http.StatusInternalServerError, "try again; the log has more under this request's id", "the bot could not do this now")
}

// Plain adds a call that answers what answer returns, as JSON. Parameters are read from the request as it is.
func (a *API) Plain(c Call, answer func(*http.Request) (any, error)) {
	a.handle(c, description{}, func(w http.ResponseWriter, r *http.Request) error {
		value, err := answer(r)
		if err == nil {
			api.Reply(w, cmp.Or(c.Status, http.StatusOK), value)
		}
		return err
	})
}
