package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	agentmemory "switchboard/agent/memory"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/memory"
)

func (a *API) memoryCalls() {
	call := callsOf("memory")
	register(a, call(Read, http.MethodGet, "", "listMemories", "What is remembered of a person, the newest first."), a.listMemories)
	register(a, call(Read, http.MethodGet, "/settings", "getMemorySettings", "What a person wants of what is remembered of them."), a.memorySettings)
	register(a, call(Messages, http.MethodPatch, "/settings", "changeMemorySettings", "Change that. What is left out stays."), a.changeMemorySettings)
	register(a, call(Admin, http.MethodGet, "/erasure", "getErasure", "How much there is of a person that POST would erase, and what would stay. The token has to speak for an admin."), a.erasable)
	register(a, call(Admin, http.MethodPost, "/erasure", "erase", "Erase what a person said, their files and what is remembered of them. It can take minutes, and cannot be undone. The token has to speak for an admin."), a.erase)
	register(a, call(Read, http.MethodGet, "/{id}", "getMemory", "A memory."), a.getMemory)
	add := call(Messages, http.MethodPost, "", "addMemory", "Have something remembered of a person, or, with the scope admin, for everybody.")
	add.Status = http.StatusCreated
	register(a, add, a.addMemory)
	register(a, call(Messages, http.MethodPost, "/{id}/{action}", "changeMemory", "Forget a memory; keep it, which confirms it; correct it; or, with the scope admin, have a rule stand in every prompt."), a.changeMemory)
	a.handle(call(Read, http.MethodGet, "/export", "exportMemories", "All that is remembered of a person, as JSON or Markdown."), description{
		params: []*huma.Param{
			param("query", "person", "As in GET /v1/memory."), param("query", "all", "As there."),
			{Name: "format", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"json", "markdown"}}},
		},
		gives: schemas{"application/json": schemaOf[memory.Archive](a, "MemoryArchive"), "text/markdown": textSchema}, about: "What is remembered.",
	}, a.exportMemories)
	a.handle(call(Admin, http.MethodPost, "/import", "importMemories", "Read what was exported as JSON. The token has to speak for an admin."), description{
		takes: schemas{"application/json": schemaOf[memory.Archive](a, "MemoryArchive")},
		gives: schemas{"application/json": schemaOf[memory.Imported](a, "MemoryImported")}, about: "What became of it.",
	}, a.importMemories)
	a.lines(call(Admin, http.MethodGet, "/events", "followMemories",
		"What becomes of memories, as lines of JSON in order, for a copy of them: from record number ?from on, or after a snapshot of all. The token has to speak for an admin."), a.followMemories)
	for path, answer := range map[string]func(*http.Request) (any, error){"/records": a.takeMemories, "/own": a.endMemoryCopy} {
		c := call(Admin, http.MethodPost, path, "memory"+path[1:], "What a copy of another bot's memory takes, and how it ends being one. On the machine of the bot alone: 501 elsewhere.")
		c.Socket = true
		a.Plain(c, answer)
	}
}

// followMemories writes what becomes of memories.
func (a *API) followMemories(r *http.Request, write func([]byte) error) error {
	from, err := strconv.ParseInt(cmp.Or(r.FormValue("from"), "0"), 10, 64)
	if err != nil || from < 0 {
		return api.Failed(http.StatusBadRequest, "", "from: %.20q is no number of a record", r.FormValue("from"))
	}
	if _, err := a.readsMemory(r.Context(), "", true); err != nil {
		return err
	}
	return a.Memory.Follow(r.Context(), from, func(list []memory.Record) error {
		var lines []byte
		for i := range list {
			line, err := json.Marshal(&list[i])
			if err != nil {
				return err
			}
			lines = append(append(lines, line...), '\n')
		}
		return write(lines)
	})
}

func (a *API) takeMemories(r *http.Request) (any, error) {
	var list []memory.Record
	if err := json.NewDecoder(io.LimitReader(r.Body, maxLocalBody)).Decode(&list); err != nil || len(list) == 0 {
		return nil, api.Failed(http.StatusBadRequest, "", "that is no list of records")
	}
	return a.Memory.Take(r.Context(), list, a.actor(CallerOf(r.Context()), ""))
}

func (a *API) endMemoryCopy(r *http.Request) (any, error) {
	return struct{}{}, a.Memory.EndCopy(r.Context(), a.actor(CallerOf(r.Context()), ""))
}

// An Eraser erases people. Both return core.ErrNotFound where nobody is called so, nor was.
type Eraser interface {
	// Erasable counts what there is of somebody, Erase removes it; keepOthers leaves memories of others that name them.
	Erasable(ctx context.Context, person string) (*memory.Erased, error)
	Erase(ctx context.Context, person string, keepOthers bool, by core.Actor) (*memory.Erased, error)
}

type erasureIn struct {
	Person string `query:"person" required:"true"`
}

type eraseIn struct {
	Person     string `query:"person" required:"true"`
	KeepOthers bool   `query:"keep_others" doc:"Leave memories that others gave and that name the person."`
}

func (a *API) erasable(ctx context.Context, in *erasureIn) (*memory.Erased, error) {
	if err := a.needsAdmin(CallerOf(ctx)); err != nil {
		return nil, err
	}
	name, err := a.called(ctx, in.Person)
	if err != nil {
		return nil, err
	}
	there, err := a.Eraser.Erasable(ctx, name)
	return there, orNobody(err, in.Person)
}

func (a *API) erase(ctx context.Context, in *eraseIn) (*memory.Erased, error) {
	c := CallerOf(ctx)
	if err := a.needsAdmin(c); err != nil {
		return nil, err
	}
	name, err := a.called(ctx, in.Person)
	if err != nil {
		return nil, err
	}
	done, err := a.Eraser.Erase(ctx, name, in.KeepOthers, a.actor(c, a.admin(c)))
	return done, orNobody(err, in.Person)
}

// A MemoryOf says whose memories a call is about.
type MemoryOf struct {
	Person string `query:"person" doc:"Whose: a name, or \"global\" for what holds for everybody. None: the only person of the token. Others' take the scope admin and an admin for whom the token speaks, and leave a row in the audit log."`
}

// called is a name as it is written, of who is known or is away; else itself.
func (a *API) called(ctx context.Context, name string) (string, error) {
	called, err := a.People.Called(ctx, name)
	return cmp.Or(called, name), err
}

// memoryOf is whose memories a call means.
func (a *API) memoryOf(ctx context.Context, c *Caller, person string) (string, error) {
	if c.Local {
		person = cmp.Or(person, a.Owner)
	}
	if person = cmp.Or(person, c.only()); person == "" {
		return "", api.Failed(http.StatusBadRequest, `name somebody in "person"`, "whose memory is it? the token %q is not of one person", c.Token)
	}
	if p := a.People.Named(person); p != nil {
		return p.Name, nil // whom they became
	} else if person == string(agentmemory.Global) {
		return person, nil
	}
	return a.called(ctx, person)
}

// readsMemory is which memories a caller reads. That somebody else reads a person's is noted.
func (a *API) readsMemory(ctx context.Context, person string, all bool) (f memory.Filter, err error) {
	c := CallerOf(ctx)
	f.All = true
	if all {
		person = ""
	} else if person, err = a.memoryOf(ctx, c, person); err != nil {
		return f, err
	}
	global := person == string(agentmemory.Global)
	switch look := c.Has(Admin) && a.admin(c) != ""; {
	case c.Local && (all || global):
	case c.Local: // also somebody who is away
		_, err = a.JobReader.Person(ctx, person)
	case global:
		err = c.may(Admin)
	case !all && c.SpeaksFor(a.People.Named(person)):
	case all && !look:
		err = api.Failed(http.StatusForbidden, "make a token with the scope admin for an admin", "the token %q may not read everybody's", c.Token)
	case !all && (!look || a.People.Named(person) == nil):
		err = core.ErrNotFound
	default:
		err = a.Changer.Change(ctx, &memory.Look{Person: person}, a.actor(c, a.admin(c)))
	}
	switch {
	case all:
	case global:
		f.Scopes = []agentmemory.Scope{agentmemory.Global}
	default:
		f.Scopes = []agentmemory.Scope{agentmemory.OfPerson(person)}
	}
	return f, orNobody(err, person)
}

// writesMemory is as whom a caller writes, and in which scope.
func (a *API) writesMemory(ctx context.Context, c *Caller, person string) (w *memory.Writer, scope agentmemory.Scope, err error) {
	if person, err = a.memoryOf(ctx, c, person); err != nil {
		return nil, "", err
	}
	scope = agentmemory.OfPerson(person)
	if person == string(agentmemory.Global) {
		scope, person = agentmemory.Global, a.admin(c)
		if c.Local {
			person = a.Owner
		}
		if err = c.may(Admin); err == nil {
			err = a.needsAdmin(c)
		}
		if err != nil {
			return nil, "", err
		}
	}
	p := a.People.Named(person)
	switch {
	case c.Local && p == nil:
		return nil, "", orNobody(core.ErrNotFound, person)
	case c.Local:
		return &memory.Writer{Machine: true, Person: person}, scope, nil
	case !c.SpeaksFor(p):
		return nil, "", a.otherPerson(c, person)
	}
	return memory.Alone(Kind, person, p.Role == core.RoleAdmin && c.Has(Admin)), scope, nil
}

// orNobody is an error; of core.ErrNotFound it says that there is no such person, for this caller.
func orNobody(err error, name string) error {
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	return api.Failed(http.StatusNotFound, `"switchboard person list" shows who there is`, "there is nobody called %.100q", name)
}

type listMemoriesIn struct {
	MemoryOf
	ListIn
	All    bool     `query:"all" doc:"Everybody's, and those of groups; as others' do."`
	Kind   []string `query:"kind" enum:"fact,preference,rule,question,learning" doc:"Only those of these kinds."`
	Before int64    `query:"before" doc:"Only those with a lower number."`
}

// MemoryList are memories.
type MemoryList struct {
	Memories []agentmemory.Entry `json:"memories"`
}

func (a *API) listMemories(ctx context.Context, in *listMemoriesIn) (*MemoryList, error) {
	f, err := a.readsMemory(ctx, in.Person, in.All)
	if err != nil {
		return nil, err
	}
	f.Before, f.Limit = in.Before, in.most(CallerOf(ctx))
	for _, kind := range in.Kind {
		f.Kinds = append(f.Kinds, agentmemory.Kind(kind))
	}
	list, err := a.Memory.Store.Memories(ctx, f)
	return &MemoryList{some(list)}, err
}

type getMemoryIn struct {
	MemoryOf
	NumberIn
}

func (a *API) getMemory(ctx context.Context, in *getMemoryIn) (*agentmemory.Entry, error) {
	f, err := a.readsMemory(ctx, in.Person, CallerOf(ctx).Local && in.Person == "")
	if err != nil {
		return nil, err
	}
	f.IDs = []int64{in.number()}
	list, err := a.Memory.Store.Memories(ctx, f)
	if err == nil && len(list) == 0 {
		err = core.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// A NewMemory is what is to be remembered.
type NewMemory struct {
	Person   string `json:"person,omitempty" doc:"Whose it is; as in GET."`
	Kind     string `json:"kind,omitempty" enum:"fact,preference,rule" default:"fact"`
	Category string `json:"category,omitempty" doc:"Of a preference any word; of a rule general, style, channel, scheduling or tools."`
	Key      string `json:"key,omitempty" doc:"What a preference is called; a newer one of that name takes its place."`
	Text     string `json:"text" minLength:"1" doc:"Written so that it can be read alone."`
	Always   bool   `json:"always,omitempty" doc:"A rule for everybody that stands in every prompt; needs the scope admin."`
}

// A MemorySaid is what was changed, or was there already, and what is to be said of it.
type MemorySaid struct {
	Memories []agentmemory.Entry `json:"memories"`
	Said     string              `json:"said"`
}

func (a *API) addMemory(ctx context.Context, in *struct{ Body NewMemory }) (*MemorySaid, error) {
	b := &in.Body
	if b.Always {
		b.Person = string(agentmemory.Global)
	}
	w, scope, err := a.writesMemory(ctx, CallerOf(ctx), b.Person)
	if err != nil {
		return nil, err
	}
	change, err := a.Memory.Ask(ctx, w, agentmemory.Entry{Kind: agentmemory.Kind(b.Kind), Scope: scope, Category: b.Category, Key: b.Key, Text: b.Text, Always: b.Always})
	return a.changedMemory(ctx, w, change, err)
}

type changeMemoryIn struct {
	MemoryOf
	NumberIn
	Action string    `path:"action" enum:"forget,keep,correct,always"`
	Body   *struct { // nil: none
		Text string `json:"text,omitempty" doc:"Of correct: what is right."`
	}
}

func (a *API) changeMemory(ctx context.Context, in *changeMemoryIn) (*MemorySaid, error) {
	w, _, err := a.writesMemory(ctx, CallerOf(ctx), in.Person)
	if err != nil {
		return nil, err
	}
	text := ""
	if in.Body != nil {
		text = in.Body.Text
	}
	change, err := a.Memory.Edit(ctx, w, memory.ChangeKind(in.Action), in.number(), text)
	return a.changedMemory(ctx, w, change, err)
}

// changedMemory makes a change, and says what came of it, or by which rule it is refused.
func (a *API) changedMemory(ctx context.Context, w *memory.Writer, change *memory.Change, err error) (*MemorySaid, error) {
	if err == nil {
		err = a.Changer.Change(ctx, change, a.actor(CallerOf(ctx), w.Person))
	}
	if err != nil && change != nil && change.Refusal != nil {
		status := http.StatusForbidden
		switch {
		case change.Refusal.Malformed():
			status = http.StatusBadRequest
		case change.NoAnswer != nil:
			status = http.StatusServiceUnavailable
		}
		return nil, api.Failed(status, "the rule is "+change.Refusal.Rule, "%s", change.Refusal.Text)
	} else if err != nil {
		return nil, err
	}
	list := change.Done
	if change.Entry.ID != 0 {
		list = []agentmemory.Entry{change.Entry}
	}
	return &MemorySaid{list, memory.Became(change)}, nil
}

func (a *API) memorySettings(ctx context.Context, in *MemoryOf) (*memory.Settings, error) {
	f, err := a.readsMemory(ctx, in.Person, false)
	if err != nil {
		return nil, err
	}
	name, isPerson := strings.CutPrefix(string(f.Scopes[0]), string(agentmemory.OfPerson("")))
	if !isPerson {
		return nil, core.ErrNotFound
	}
	own, err := a.Memory.Store.MemorySettings(ctx, name)
	own.Denied = some(own.Denied)
	return &own, err
}

type changeMemorySettingsIn struct {
	MemoryOf
	Body struct {
		Learning *bool    `json:"learning,omitempty" doc:"Whether something is learned unasked."`
		Recall   *bool    `json:"recall,omitempty" doc:"Whether what is remembered is used in answers."`
		Expire   *int64   `json:"expire_after,omitempty" doc:"After how many unused days what was learned is forgotten; 0: as the settings of the program say."`
		Denied   []string `json:"denied_categories,omitempty" doc:"Of what nothing is remembered."`
	}
}

func (a *API) changeMemorySettings(ctx context.Context, in *changeMemorySettingsIn) (*memory.Settings, error) {
	w, scope, err := a.writesMemory(ctx, CallerOf(ctx), in.Person)
	if err == nil && scope == agentmemory.Global {
		err = core.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	own, err := a.Memory.Store.MemorySettings(ctx, w.Person)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	own.Learning, own.Recall, own.Expire = *cmp.Or(b.Learning, &own.Learning), *cmp.Or(b.Recall, &own.Recall), *cmp.Or(b.Expire, &own.Expire)
	if b.Denied != nil {
		own.Denied = b.Denied
	}
	own.Denied = some(own.Denied)
	if fault := own.Fault(); fault != "" {
		return nil, api.Failed(http.StatusBadRequest, "", "%s", fault)
	}
	return &own, a.Changer.Change(ctx, a.Memory.SetOwn(w.Person, own), a.actor(CallerOf(ctx), w.Person))
}

func (a *API) exportMemories(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	format := cmp.Or(q.Get("format"), "json")
	if format != "json" && format != "markdown" {
		return api.Failed(http.StatusBadRequest, "json or markdown", "format: there is no %.20q", format)
	}
	f, err := a.readsMemory(r.Context(), q.Get("person"), q.Get("all") == "true")
	if err != nil {
		return err
	}
	archive, err := a.Memory.Export(r.Context(), f)
	if err != nil {
		return err
	}
	return WriteMemories(&slowly{ResponseWriter: w, out: http.NewResponseController(w)}, archive, format)
}

// WriteMemories answers with what is remembered, as "json" or "markdown".
func WriteMemories(w http.ResponseWriter, archive *memory.Archive, format string) error {
	if format == "markdown" {
		w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
		_, _ = fmt.Fprint(w, archive.Markdown()) // the client left
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(archive) // the client left
	return nil
}

func (a *API) importMemories(w http.ResponseWriter, r *http.Request) error {
	c := CallerOf(r.Context())
	if err := a.needsAdmin(c); err != nil {
		return err
	}
	data, err := bodyOf(w, r, maxLocalBody, api.Failed(http.StatusRequestEntityTooLarge, "import it in parts", "the file is larger than %d MB", maxLocalBody>>20))
	if err != nil {
		return err
	}
	done, err := a.Memory.Import(r.Context(), data, a.actor(c, a.admin(c)))
	if err == nil {
		api.Reply(w, http.StatusOK, done)
	}
	return err
}
