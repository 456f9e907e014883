package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"switchboard/channels/api"
	"switchboard/router/audit"
	"switchboard/router/browsers"
	"switchboard/router/core"
	"switchboard/router/tokens"
)

// cookie is the name of the one that has a browser's secret.
const cookie = "switchboard"

// secureCookie is that on https: browsers take both from https alone, and the first from no other host of the domain.
func (s *Site) secureCookie() string {
	if s.base == "" {
		return "__Host-" + cookie
	}
	return "__Secure-" + cookie
}

// secret is a browser's; empty: it has none.
func (s *Site) secret(r *http.Request) string {
	c, err := r.Cookie(s.secureCookie())
	if err != nil && !s.secure(r) { // a proxy may keep the name of the page to itself
		c, err = r.Cookie(cookie)
	}
	if err != nil {
		return ""
	}
	return c.Value
}

// secure says that a call came over https, here or to the proxy.
func (s *Site) secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(s.origin, "https://") && (r.Header.Get("Origin") == s.origin || strings.HasSuffix(s.origin, "://"+r.Host))
}

// Browsers knows who is signed in.
type Browsers interface {
	// Find is the browser with a secret. browsers.ErrNotSignedIn.
	Find(ctx context.Context, secret string) (*browsers.Browser, error)
	// LinkOf is the person whom a link signs in; it stays good. ErrNotSignedIn.
	LinkOf(ctx context.Context, secret string) (person string, err error)
	// ByLink, ByCode and ByToken sign a browser in and return its secret. ErrNotSignedIn.
	ByLink(ctx context.Context, secret, about string) (string, *browsers.Browser, error)
	ByCode(ctx context.Context, person, code, about string) (string, *browsers.Browser, error)
	ByToken(ctx context.Context, person, token string, hash []byte, about string) (string, *browsers.Browser, error)
	// Ask sends a person a code; nil: nobody.
	Ask(ctx context.Context, person *core.Person)
	// End ends a browser of a person, or all where id is 0.
	End(ctx context.Context, id int64, person string, by core.Actor) error
}

// Tokens finds API tokens by their secret or its hash. tokens.NotGood tells why there is none.
type Tokens interface {
	api.Tokens
	ByHash(ctx context.Context, hash []byte) (*tokens.Token, error)
}

// A visitor is who looks at a page.
type visitor struct {
	person  *core.Person
	browser *browsers.Browser
	secret  string
}

func (v *visitor) admin() bool { return v.person.Role == core.RoleAdmin }

// actor is who a change is said to be made by.
func (v *visitor) actor() core.Actor {
	return core.Actor{Person: v.person.Name, Rule: audit.RuleBrowser}
}

type visitorKey struct{}

// visitorOf is who looks at the page of a call.
func visitorOf(r *http.Request) *visitor {
	v, _ := r.Context().Value(visitorKey{}).(*visitor)
	return v
}

// visit finds out who looks; nil: nobody who is signed in.
func (s *Site) visit(r *http.Request) (*visitor, error) {
	if secret := s.secret(r); secret != "" {
		return s.visitorWith(r.Context(), secret)
	}
	return nil, nil
}

// visitorWith is who has a secret; nil: nobody who is signed in.
func (s *Site) visitorWith(ctx context.Context, secret string) (*visitor, error) {
	b, err := s.Browsers.Find(ctx, secret)
	if errors.Is(err, browsers.ErrNotSignedIn) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	person := s.People.Named(b.Person)
	if person == nil || !person.Away.IsZero() {
		return nil, nil
	}
	if ended, err := s.ended(ctx, b); ended || err != nil {
		return nil, err
	}
	return &visitor{person, b, secret}, nil
}

// ended says whether the token that signed a browser in would not do so any more.
func (s *Site) ended(ctx context.Context, b *browsers.Browser) (bool, error) {
	if b.Token == nil {
		return false, nil
	}
	person, err := s.personOf(s.Tokens.ByHash(ctx, b.Token))
	if _, wrong := errors.AsType[errWrong](err); wrong {
		return true, nil
	}
	return person != b.Person, err
}

// once asks again only when something happened since: a page that is open asks nothing of the database while nothing does. The
// function is for one goroutine.
func (s *Site) once(still func(context.Context) error) func(context.Context) error {
	asked := int64(-1)
	return func(ctx context.Context) error {
		now := s.Program.Activity.Count()
		if now == asked {
			return nil
		}
		err := still(ctx)
		if err == nil {
			asked = now
		}
		return err
	}
}

// still says why somebody may look no more; nil: they may.
func (s *Site) still(ctx context.Context, v *visitor) error {
	if now, err := s.visitorWith(ctx, v.secret); now == nil && err == nil {
		return browsers.ErrNotSignedIn
	}
	return nil // that the database cannot be asked ends nothing
}

// signedIn has a page shown to whoever is signed in; others are led to where they can. A form has maxForm bytes at most, so that
// reading it leaves no file behind.
func (s *Site) signedIn(page http.HandlerFunc) http.HandlerFunc {
	return s.withFiles(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		page(w, r)
	})
}

// withFiles is signedIn for forms that may bring files, and bound what they read by themselves.
func (s *Site) withFiles(page http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := s.visit(r)
		switch {
		case err != nil:
			s.fail(w, r, err)
		case v != nil:
			page(w, r.WithContext(context.WithValue(r.Context(), visitorKey{}, v)))
		case isPart(r):
			w.Header().Set("HX-Redirect", s.url("/signin"))
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method != http.MethodGet && r.Method != http.MethodHead || strings.HasSuffix(r.URL.Path, "/live"):
			s.refuse(w, r, http.StatusUnauthorized, "You are not signed in any more.")
		default:
			http.Redirect(w, r, s.url("/signin"), http.StatusSeeOther)
		}
	}
}

// forAdmins has a page shown to admins.
func (s *Site) forAdmins(page http.HandlerFunc) http.HandlerFunc {
	return s.signedIn(func(w http.ResponseWriter, r *http.Request) {
		if !visitorOf(r).admin() {
			s.refuse(w, r, http.StatusForbidden, "That is for admins.")
			return
		}
		page(w, r)
	})
}

func (s *Site) signInPages() {
	s.mux.HandleFunc("GET /signin", func(w http.ResponseWriter, r *http.Request) { s.write(w, r, http.StatusOK, "signin", signInForm{}) })
	s.mux.HandleFunc("POST /signin/whose", s.trying(s.whoseLink))
	s.mux.HandleFunc("POST /signin/link", s.trying(s.byLink))
	s.mux.HandleFunc("POST /signin/token", s.trying(s.byToken))
	s.mux.HandleFunc("POST /signin/ask", s.trying(s.askCode))
	s.mux.HandleFunc("POST /signin/code", s.trying(s.byCode))
	s.mux.HandleFunc("POST /signout", s.signedIn(s.signOut))
}

// A signInForm is what the page of that name shows.
type signInForm struct {
	Wrong string // what went wrong; empty: nothing did
	Name  string // whom a code was sent to; empty: nobody
	// Link is the secret of a link, which signs that person in; empty: there is none.
	Link, Person string
}

// errWrong says that somebody brought what signs nobody in.
type errWrong string

func (e errWrong) Error() string { return string(e) }

// trying answers a try to sign in. An address with too many wrong ones waits.
func (s *Site) trying(try func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		err := try(w, r)
		if errors.Is(err, browsers.ErrNotSignedIn) {
			err = errWrong("That link or code is not good any more. Each is good once, for ten minutes.")
		}
		if wrong, ok := errors.AsType[errWrong](err); ok {
			status, from := http.StatusUnauthorized, s.Visits.Address(r)
			s.Log.InfoContext(r.Context(), "a browser was not signed in", "path", r.URL.Path, "address", from.String())
			if s.Visits.Failed(from) || wrong == "" {
				status, wrong = http.StatusTooManyRequests, "That was too often. Wait a minute, and try again."
			}
			s.write(w, r, status, "signin", signInForm{Wrong: string(wrong), Name: r.PostFormValue("name")})
		} else if err != nil {
			s.fail(w, r, err)
		}
	}
}

// letIn gives a browser that was signed in its secret, and leads it to the page; it passes err on.
func (s *Site) letIn(w http.ResponseWriter, r *http.Request, secret string, err error) error {
	if err != nil {
		return err
	}
	if old, _ := s.visit(r); old != nil { // nobody may have given it to this browser before
		_ = s.Browsers.End(r.Context(), old.browser.ID, old.person.Name, old.actor()) // it may be gone
	}
	s.setCookie(w, r, secret, browsers.Lives)
	first := "/"
	if s.Setup != nil {
		if st := s.Setup.State(); st.Needed() {
			first = "/setup"
		}
	}
	http.Redirect(w, r, s.url(first), http.StatusSeeOther)
	return nil
}

// setCookie gives the browser its secret; no time takes it away.
func (s *Site) setCookie(w http.ResponseWriter, r *http.Request, secret string, lives time.Duration) {
	c := &http.Cookie{
		Name: cookie, Value: secret, Path: s.url("/"), MaxAge: int(lives.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.secure(r),
	}
	if c.Secure {
		c.Name = s.secureCookie()
	}
	if lives == 0 {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// whoseLink shows whom a link signs in: it may be somebody else's who sent it.
func (s *Site) whoseLink(w http.ResponseWriter, r *http.Request) error {
	secret := r.PostFormValue("secret")
	person, err := s.Browsers.LinkOf(r.Context(), secret)
	if err == nil {
		s.write(w, r, http.StatusOK, "signin", signInForm{Link: secret, Person: person})
	}
	return err
}

func (s *Site) byLink(w http.ResponseWriter, r *http.Request) error {
	secret, _, err := s.Browsers.ByLink(r.Context(), r.PostFormValue("secret"), r.UserAgent())
	return s.letIn(w, r, secret, err)
}

func (s *Site) byCode(w http.ResponseWriter, r *http.Request) error {
	if s.Visits.Waits(s.Visits.Address(r)) { // a code is short enough to be guessed by who may go on
		return errWrong("")
	}
	name := strings.TrimSpace(r.PostFormValue("name"))
	secret, _, err := s.Browsers.ByCode(r.Context(), name, r.PostFormValue("code"), r.UserAgent())
	return s.letIn(w, r, secret, err)
}

func (s *Site) byToken(w http.ResponseWriter, r *http.Request) error {
	value := strings.TrimSpace(r.PostFormValue("token"))
	token, err := s.Tokens.Find(r.Context(), value)
	person, err := s.personOf(token, err)
	if err != nil {
		return err
	}
	secret, _, err := s.Browsers.ByToken(r.Context(), person, token.Name, tokens.Hash(value), r.UserAgent())
	return s.letIn(w, r, secret, err)
}

// personOf is whom a token that was looked for signs in. An errWrong: nobody.
func (s *Site) personOf(token *tokens.Token, err error) (string, error) {
	switch {
	case tokens.NotGood(err):
		return "", errWrong("That token is not valid.")
	case err != nil:
		return "", err
	case len(token.People) != 1:
		return "", errWrong("That token is not of one person: make one with --person NAME.")
	case !slices.Contains(token.Scopes, tokens.ScopeMessages) || !slices.Contains(token.Scopes, tokens.ScopeRead):
		return "", errWrong("That token needs the scopes messages and read.")
	}
	// A browser may all that its person may, and decides also what the API keeps from tokens.
	if p := s.People.Named(token.People[0]); p != nil && p.Role == core.RoleAdmin && !slices.Contains(token.Scopes, tokens.ScopeAdmin) {
		return "", errWrong("That token needs the scope admin too, as it is an admin's.")
	}
	return token.People[0], nil
}

// askCode sends a person a code. The answer is the same for everybody, and asking counts as a wrong try.
func (s *Site) askCode(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimSpace(r.PostFormValue("name"))
	switch {
	case name == "":
		return errWrong("Write your name.")
	case s.Visits.Failed(s.Visits.Address(r)):
		return errWrong("")
	}
	go s.Browsers.Ask(context.WithoutCancel(r.Context()), s.People.Named(name)) // how long it takes tells nothing
	s.write(w, r, http.StatusOK, "signin", signInForm{Name: name})
	return nil
}

func (s *Site) signOut(w http.ResponseWriter, r *http.Request) {
	v := visitorOf(r)
	id := v.browser.ID
	if r.PostFormValue("all") != "" {
		id = 0
	}
	if err := s.Browsers.End(r.Context(), id, v.person.Name, v.actor()); err != nil && !errors.Is(err, core.ErrNotFound) {
		s.fail(w, r, err)
		return
	}
	s.setCookie(w, r, "", 0)
	http.Redirect(w, r, s.url("/signin"), http.StatusSeeOther)
}
