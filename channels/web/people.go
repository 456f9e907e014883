package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"switchboard/internal/words"
	"switchboard/router/approvals"
	"switchboard/router/core"
	"switchboard/router/people"
)

// An Asking makes claim codes, and takes accounts off people.
type Asking interface {
	// NewClaim makes a code that makes the sender of it in a direct chat an admin, once: that person, or a new one
	// where it is empty.
	NewClaim(ctx context.Context, person string, by core.Actor) (string, error)
	// Unlinking is the change that takes an account off somebody, or why it stays theirs.
	Unlinking(p *core.Person, identity string) (*people.Change, string)
}

func (s *Site) peoplePages() {
	s.menu = append(s.menu, entry{Name: "people", Path: "/people", Label: "People", Admin: true})
	s.onlyAdmins("GET /people", func(w http.ResponseWriter, r *http.Request) error { return s.people(w, r, "") })
	s.onlyAdmins("GET /people/{name}", s.person)
	s.onlyAdmins("GET /people/{name}/remove", s.askRemoval)
	s.onlyAdmins("POST /people/{name}/signin", s.linkFor)
	s.onlyAdmins("POST /people/allow", s.allow)
	s.onlyAdmins("POST /people/refuse", s.refuseStranger)
	s.onlyAdmins("POST /people/claim", s.claim)
	s.onlyAdmins("POST /people/unlink", s.unlink)
	s.onlyAdmins("POST /people/signout", s.signOutPerson)
	for _, kind := range []people.ChangeKind{people.ChangeAdd, people.ChangeRole, people.ChangeTools, people.ChangeLink, people.ChangeRemove} {
		s.onlyAdmins("POST /people/"+string(kind), func(w http.ResponseWriter, r *http.Request) error { return s.changePerson(w, r, kind) })
	}
}

// personPath is the page of somebody.
func personPath(name string) string { return "/people/" + url.PathEscape(name) }

// A personRow is somebody in the list.
type personRow struct {
	core.Person
	Label string // what they call themselves, whom an open channel let in
	From  string // where they are known from
	Known time.Time
}

// Uses says which tools they may use.
func (p *personRow) Uses() string {
	switch {
	case len(p.Tools) == 0:
		return "no tools"
	case slices.Equal(p.Tools, []string{"*"}):
		return "the usual ones" // "*" is not all: some have to be named
	}
	return strings.Join(p.Tools, ", ")
}

// A peopleBody is the page of everybody.
type peopleBody struct {
	Strangers []people.Stranger
	People    []personRow
	Claim     string // a code that was made just now
}

func (s *Site) people(w http.ResponseWriter, r *http.Request, claim string) error {
	body := peopleBody{Claim: claim}
	var err error
	if body.Strangers, err = people.Strangers(r.Context(), s.Register); err == nil {
		body.People, err = s.everyone(r.Context())
	}
	if err != nil {
		return err
	}
	for i := range body.Strangers {
		m := &body.Strangers[i]
		m.Author, m.Text = words.OneLine(words.Visible(m.Author), 60), words.OneLine(words.Visible(m.Text), 200)
	}
	return s.show(w, r, "people", "People", "people", body)
}

// everyone lists everybody by name.
func (s *Site) everyone(ctx context.Context) ([]personRow, error) {
	list, away, err := s.Register.Everyone(ctx)
	if err != nil {
		return nil, err
	}
	list = append(list, away...)
	slices.SortFunc(list, func(a, b core.Person) int { return strings.Compare(a.Name, b.Name) })
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	labels, err := s.Register.Labels(ctx, names)
	rows := make([]personRow, len(list))
	for i, p := range list {
		rows[i] = personRow{Person: p, Label: words.OneLine(words.Visible(labels[p.Name]), 60)}
		rows[i].From, rows[i].Known = people.KnownFrom(&p)
	}
	return rows, err
}

// named is somebody by name. core.ErrNotFound.
func (s *Site) named(ctx context.Context, name string) (*personRow, error) {
	list, err := s.everyone(ctx)
	i := slices.IndexFunc(list, func(p personRow) bool { return p.Name == name })
	if err != nil || i < 0 {
		return nil, orNotFound(err)
	}
	return &list[i], nil
}

func orNotFound(err error) error {
	if err == nil {
		err = core.ErrNotFound
	}
	return err
}

// A personBody is the page of somebody.
type personBody struct {
	personRow
	Fixed     string // why their role and their tools stay as they are; empty: they can be changed
	Linkable  bool   // they can have more accounts
	Removable bool
	Accounts  []account
	Usable    []string
	Browsers  []browserRow
	Link      string // that signs them in, and was made just now
	Question  string // whether they are to be removed, as Markdown; empty: it is not asked
}

// An account is an identity of somebody.
type account struct {
	ID    string
	Stays bool
}

// person shows somebody.
func (s *Site) person(w http.ResponseWriter, r *http.Request) error {
	body, err := s.personBody(r)
	if err != nil {
		return err
	}
	return s.show(w, r, "people", body.Name, "person", body)
}

// linkFor makes a link that signs somebody in and shows it, this once.
func (s *Site) linkFor(w http.ResponseWriter, r *http.Request) error {
	body, err := s.personBody(r)
	if err == nil && !body.Away.IsZero() {
		err = &core.StateError{Sentence: body.Fixed}
	}
	if err == nil {
		body.Link, err = s.SignInLink(r.Context(), body.Name, visitorOf(r).actor())
	}
	if err != nil {
		return err
	}
	return s.show(w, r, "people", body.Name, "person", body)
}

func (s *Site) personBody(r *http.Request) (*personBody, error) {
	v := visitorOf(r)
	p, err := s.named(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	b := &personBody{personRow: *p, Linkable: true, Removable: true}
	file, inFile := s.Named(p.Name)
	switch err := s.Judge(v.person, &people.Change{Kind: people.ChangeRole, Person: core.Person{Name: p.Name}}); {
	case !p.Away.IsZero():
		b.Fixed, b.Linkable = fmt.Sprintf("%s is away: %s does not name them any more. Their jobs and messages wait. Name them there again, or remove them.", p.Name, file), false
	case p.Source == core.FromSettings:
		b.Fixed, b.Linkable, b.Removable = fmt.Sprintf("%s is named in [[people]] of %s, which decides: change it there.", p.Name, file), false, false
	case err != nil:
		b.Fixed, b.Removable = sentence(err.Error(), ""), false
	}
	for _, id := range p.Identities {
		_, stays := s.Asking.Unlinking(&p.Person, id)
		named := inFile != nil && slices.Contains(inFile.Identities, id)
		b.Accounts = append(b.Accounts, account{ID: id, Stays: stays != "" || named || len(p.Identities) == 1 || !p.Away.IsZero()})
	}
	b.Usable = s.Usable(p.Name, s.Channel.Name())
	b.Browsers, err = s.browsersOf(r.Context(), p.Name, v.browser.ID)
	return b, err
}

// askRemoval asks whether somebody is to be removed, and says what goes with them.
func (s *Site) askRemoval(w http.ResponseWriter, r *http.Request) error {
	body, err := s.personBody(r)
	if err == nil && !body.Removable {
		err = &core.StateError{Sentence: body.Fixed}
	}
	if err == nil {
		body.Question, err = people.RemovalQuestion(r.Context(), s.Register, &body.Person)
	}
	if err != nil {
		return err
	}
	return s.show(w, r, "people", "Remove "+body.Name, "removal", body)
}

// listed are the words of a field, with spaces or commas between them.
func listed(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })
}

// changePerson makes a change of somebody.
func (s *Site) changePerson(w http.ResponseWriter, r *http.Request, kind people.ChangeKind) error {
	c := &people.Change{Kind: kind, Person: core.Person{
		Name: strings.TrimSpace(r.PostFormValue("name")), Role: r.PostFormValue("role"), Tools: listed(r.PostFormValue("tools")),
		Identities: listed(r.PostFormValue("identity")), TimeZone: strings.TrimSpace(r.PostFormValue("timezone")),
	}}
	then := personPath(c.Person.Name)
	var fault string
	switch kind {
	case people.ChangeAdd, people.ChangeRole:
		if c.Person.Role != core.RoleAdmin && c.Person.Role != core.RoleUser {
			fault = "A role is user or admin."
		}
	case people.ChangeLink:
		if len(c.Person.Identities) == 0 {
			fault = "Write the account to add: its channel, a colon, and the ID there."
		}
	case people.ChangeRemove:
		then = "/people"
		if since, err := time.Parse(time.RFC3339Nano, r.PostFormValue("since")); err == nil {
			c.Since = since.UnixMicro()
		} else {
			fault = "The form is not right. Load the page again."
		}
	}
	if fault != "" {
		return wrong(fault)
	}
	return s.led(w, r, then, s.changeJudged(r, c))
}

// changeJudged makes a change that the settings allow.
func (s *Site) changeJudged(r *http.Request, c core.Change) error {
	if p, ok := c.(*people.Change); ok {
		if err := s.Judge(visitorOf(r).person, p); err != nil {
			return &core.StateError{Sentence: "Nothing was changed: " + err.Error() + "."}
		}
	}
	return s.Changer.Change(r.Context(), c, visitorOf(r).actor())
}

// led has the browser open a page, unless what was to be done went wrong.
func (s *Site) led(w http.ResponseWriter, r *http.Request, path string, err error) error {
	if err == nil {
		s.lead(w, r, path)
	}
	return err
}

// unlink takes an account off somebody.
func (s *Site) unlink(w http.ResponseWriter, r *http.Request) error {
	p, err := s.named(r.Context(), r.PostFormValue("name"))
	if err == nil {
		change, stays := s.Asking.Unlinking(&p.Person, r.PostFormValue("identity"))
		if stays != "" {
			err = &core.StateError{Sentence: stays}
		} else {
			err = s.Changer.Change(r.Context(), change, visitorOf(r).actor())
		}
	}
	return s.led(w, r, personPath(r.PostFormValue("name")), err)
}

// stranger is who has an identity and wrote lately. *core.StateError.
func (s *Site) stranger(r *http.Request) (*people.Stranger, error) {
	list, err := people.Strangers(r.Context(), s.Register)
	i := slices.IndexFunc(list, func(m people.Stranger) bool { return m.Identity == r.PostFormValue("identity") })
	if err == nil && i < 0 {
		err = &core.StateError{Sentence: "They are no stranger any more. Load the page again."}
	}
	if err != nil {
		return nil, err
	}
	return &list[i], nil
}

// allow lets a stranger in.
func (s *Site) allow(w http.ResponseWriter, r *http.Request) error {
	m, err := s.stranger(r)
	if err == nil {
		err = s.changeJudged(r, m.Allow(strings.TrimSpace(r.PostFormValue("name"))))
	}
	return s.led(w, r, "/people", err)
}

// refuseStranger denies what a stranger asked for.
func (s *Site) refuseStranger(w http.ResponseWriter, r *http.Request) error {
	m, err := s.stranger(r)
	if err == nil && m.Pairing == nil {
		err = &core.StateError{Sentence: approvals.Texts[approvals.Over]}
	}
	if err == nil {
		err = s.Changer.Change(r.Context(), m.Refuse(), visitorOf(r).actor())
	}
	return s.led(w, r, "/people", err)
}

// claim makes a claim code and shows it, this once.
func (s *Site) claim(w http.ResponseWriter, r *http.Request) error {
	code, err := s.Asking.NewClaim(r.Context(), "", visitorOf(r).actor())
	if err != nil {
		return err
	}
	return s.people(w, r, code)
}

// signOutPerson ends a browser of somebody, or all.
func (s *Site) signOutPerson(w http.ResponseWriter, r *http.Request) error {
	name := r.PostFormValue("name")
	return s.led(w, r, personPath(name), s.endBrowser(r, name))
}
