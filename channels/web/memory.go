package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/agent/memory"
	"switchboard/channels/api"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
)

// memoriesMost is how many memories a page has.
const memoriesMost = 50

func (s *Site) memoryPages() {
	s.menu = append(s.menu, entry{Name: "memory", Path: "/memory", Label: "Memory"})
	s.forAll("GET /memory", s.memories)
	s.forAll("POST /memory", s.remember)
	s.forAll("POST /memory/settings", s.setMemory)
	s.forAll("GET /memory/export", s.exportMemories)
	s.forAll("POST /memory/{memory}/{action}", s.changeMemory)
	s.onlyAdmins("POST /memory/read", s.readOthers)
}

// A memoryList is what is remembered of the visitor, of everybody, or of somebody else, whose memories are read and no more.
type memoryList struct {
	All    bool   // what holds for everybody
	Of     string // somebody else; empty: nobody
	Ask    bool   // the visitor has to say first that they want to read it
	May    bool   // they see what holds for everybody
	Groups []routermemory.Group
	Before int64 // the number before which they begin; 0: they are the newest
	More   int64 // that of the last one, where there are others; 0: there are none
	Swap   bool  // the form takes the place of the one that was sent
	Set    *memorySettings
}

// How says how a memory came to be.
func (*memoryList) How(e memory.Entry) string { return routermemory.SourceWords(e.Source) }

// Where is the page of the chat in which it was said; empty: in none that the visitor reads.
func (l *memoryList) Where(e memory.Entry) string {
	if l.All || l.Of != "" {
		return ""
	}
	return e.Session
}

// Does lists what a press does with it.
func (l *memoryList) Does(e memory.Entry) (list []string) {
	if l.Of != "" {
		return nil
	}
	if e.Kind != memory.Learning && !e.Kept {
		list = append(list, "keep")
	}
	if l.All && e.Kind == memory.Rule && !e.Always {
		list = append(list, "always")
	}
	return append(list, "forget")
}

// memorySettings are what the visitor wants of what is remembered of them.
type memorySettings struct {
	routermemory.Settings
	Off        bool // nothing is learned unasked of anybody
	Categories []memoryCategory
}

// A memoryCategory is one of what people may not want to be remembered.
type memoryCategory struct {
	Name         string
	Own, Program bool // who denied it: they, the settings of the program
}

// memoryList is a page of memories.
func (s *Site) memoryList(ctx context.Context, v *visitor, all bool, of string, before int64) (*memoryList, error) {
	l := &memoryList{May: v.admin(), All: all && v.admin(), Before: max(before, 0)}
	if of != v.person.Name && v.admin() && !l.All {
		l.Of = of
	}
	scope := memory.OfPerson(v.person.Name)
	if l.All {
		scope = memory.Global
	} else if l.Of != "" {
		if _, err := s.named(ctx, l.Of); err != nil {
			return nil, err
		}
		if l.Ask = !s.looks.may(v.browser.ID, lookOf(l.Of)); l.Ask {
			return l, nil
		}
		scope = memory.OfPerson(l.Of)
	}
	list, err := s.Memory.Store.Memories(ctx, routermemory.Filter{Scopes: []memory.Scope{scope}, All: true, Before: l.Before, Limit: memoriesMost + 1})
	if len(list) > memoriesMost {
		list = list[:memoriesMost]
		l.More = list[memoriesMost-1].ID
	}
	l.Groups = routermemory.ByKind(list)
	return l, err
}

// lookOf is an admin's look at what is remembered of somebody, among those at sessions, whose keys have no space.
func lookOf(person string) string { return "memory of " + person }

func (s *Site) memories(w http.ResponseWriter, r *http.Request) error {
	v, q := visitorOf(r), r.URL.Query()
	before, _ := strconv.ParseInt(q.Get("before"), 10, 64)
	l, err := s.memoryList(r.Context(), v, q.Get("all") != "", q.Get("of"), before)
	if err == nil && !l.All && l.Of == "" {
		l.Set, err = s.memorySettings(r.Context(), v)
	}
	if err != nil {
		return err
	}
	return s.show(w, r, "memory", "Memory", "memory", l)
}

func (s *Site) memorySettings(ctx context.Context, v *visitor) (*memorySettings, error) {
	own, err := s.Memory.Store.MemorySettings(ctx, v.person.Name)
	cfg := s.Memory.Settings()
	set := &memorySettings{Settings: own, Off: !cfg.Learning}
	for _, name := range memory.Categories() {
		set.Categories = append(set.Categories, memoryCategory{name, slices.Contains(own.Denied, name), slices.Contains(cfg.DeniedCategories, name)})
	}
	return set, err
}

// readOthers lets an admin read what is remembered of somebody else, which is noted in the audit log.
func (s *Site) readOthers(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	p, err := s.named(r.Context(), r.PostFormValue("of"))
	if err == nil {
		err = s.Changer.Change(r.Context(), &routermemory.Look{Person: p.Name}, v.actor())
	}
	if err != nil {
		return err
	}
	s.looks.begin(v.browser.ID, lookOf(p.Name))
	s.lead(w, r, "/memory?of="+url.QueryEscape(p.Name))
	return nil
}

// writer is the visitor as they write what is to be remembered.
func (v *visitor) writer() *routermemory.Writer {
	return routermemory.Alone(Kind, v.person.Name, v.admin())
}

func (s *Site) remember(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	e := memory.Entry{Kind: memory.Fact, Text: field(r, "text")}
	if r.FormValue("kind") == string(memory.Rule) {
		e.Kind = memory.Rule
	}
	if r.FormValue("all") != "" {
		e.Scope = memory.Global
	}
	change, err := s.Memory.Ask(r.Context(), v.writer(), e)
	return s.changedMemory(w, r, true, change, err)
}

func (s *Site) changeMemory(w http.ResponseWriter, r *http.Request) error {
	does := routermemory.ChangeKind(r.PathValue("action"))
	if !slices.Contains([]routermemory.ChangeKind{routermemory.Forget, routermemory.Keep, routermemory.Correct, routermemory.Always}, does) {
		return core.ErrNotFound
	}
	id, _ := strconv.ParseInt(r.PathValue("memory"), 10, 64)
	change, err := s.Memory.Edit(r.Context(), visitorOf(r).writer(), does, id, field(r, "text"))
	return s.changedMemory(w, r, false, change, err)
}

// changedMemory makes a change, and answers with what is remembered then and what is to be said of it. Added: it is a new one.
func (s *Site) changedMemory(w http.ResponseWriter, r *http.Request, added bool, change *routermemory.Change, err error) error {
	v, all := visitorOf(r), r.FormValue("all") != ""
	if err == nil {
		err = s.Changer.Change(r.Context(), change, v.actor())
	}
	if err != nil {
		return err
	}
	if !isPart(r) {
		path := "/memory"
		if all {
			path += "?all=1"
		}
		http.Redirect(w, r, s.url(path), http.StatusSeeOther)
		return nil
	}
	before, _ := strconv.ParseInt(r.FormValue("before"), 10, 64)
	l, err := s.memoryList(r.Context(), v, all, "", before)
	if err != nil {
		return err
	}
	l.Swap = added
	return s.part(w, r, "changed-memories", map[string]any{"Body": l, "Said": routermemory.Became(change)})
}

// setMemory sets what the visitor wants of what is remembered of them.
func (s *Site) setMemory(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	days, err := strconv.ParseInt(strings.TrimSpace(r.FormValue("expire")), 10, 64)
	if err != nil {
		days = -1 // which is none
	}
	own := routermemory.Settings{Learning: r.FormValue("learning") != "", Recall: r.FormValue("recall") != "", Expire: days, Denied: r.Form["deny"]}
	if fault := own.Fault(); fault != "" {
		return wrong(fault)
	}
	return s.led(w, r, "/memory", s.Changer.Change(r.Context(), s.Memory.SetOwn(v.person.Name, own), v.actor()))
}

// exportMemories sends the visitor a file of what is remembered of them.
func (s *Site) exportMemories(w http.ResponseWriter, r *http.Request) error {
	v, format, ending := visitorOf(r), "markdown", "md"
	if r.URL.Query().Get("format") == "json" {
		format, ending = "json", "json"
	}
	archive, err := s.Memory.Export(r.Context(), routermemory.Filter{Scopes: []memory.Scope{memory.OfPerson(v.person.Name)}})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="memory-%s.%s"`, time.Now().Format(time.DateOnly), ending))
	return api.WriteMemories(w, archive, format)
}
