package web

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"switchboard/channels/api"
	failures "switchboard/internal/api"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/sessions"
)

//go:embed templates/*.html
var templateFiles embed.FS

// templates has what the pages are made of.
func (s *Site) templates() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"url":      s.url,
		"asset":    s.assetURL,
		"chat":     s.chatURL,
		"path":     url.PathEscape,
		"text":     s.format.text,
		"grows":    func(markdown string) template.HTML { return s.format.text(markdown, new(time.Duration)) }, // it is not complete
		"plain":    plain,
		"time":     func(t time.Time) template.HTML { return timed(t, "") },
		"since":    func(t time.Time) template.HTML { return timed(t, ` class="since"`) },
		"stands":   stands,
		"short":    func(text string) string { return words.OneLine(text, 120) },
		"upper":    words.Upper,
		"span":     words.Span,
		"outcome":  words.Outcome,
		"size":     words.Size,
		"title":    func(title string) any { return struct{ Title string }{title} },
		"showable": api.Showable,
		"plainJSON": func(data json.RawMessage) string {
			if text := string(data); text != "{}" && text != "null" {
				return text
			}
			return ""
		},
		"picture": picture,
		"filed":   func() bool { return s.Filed() },
		"job":     func(j jobRow, action, label string) any { return jobAction{j, action, label} },
		"sound":   func(kind string) bool { return strings.HasPrefix(kind, "audio/") },
	}).ParseFS(templateFiles, "templates/*.html"))
}

// picture says that a file is a picture made of dots, which runs nothing.
func picture(kind string) bool {
	return strings.HasPrefix(kind, "image/") && !strings.HasPrefix(kind, "image/svg")
}

// timed is an instant as HTML, with attributes of ours. inZone writes its words.
func timed(t time.Time, attributes string) template.HTML {
	if t.IsZero() {
		return ""
	}
	return template.HTML(`<time` + attributes + ` datetime="` + t.UTC().Format(time.RFC3339) + `"></time>`) //nolint:gosec // digits alone
}

var timeTag = regexp.MustCompile(`<time[^<>]* datetime="([^"]+)"></time>`)

// inZone writes the times of a page for its reader: the clock of today, the day before it otherwise.
func (s *Site) inZone(page []byte, v *visitor) []byte {
	if !bytes.Contains(page, []byte("<time")) {
		return page
	}
	zone := s.zoneOf(v)
	today := time.Now().In(zone).Format(time.DateOnly)
	return timeTag.ReplaceAllFunc(page, func(tag []byte) []byte {
		t, err := time.Parse(time.RFC3339, string(timeTag.FindSubmatch(tag)[1]))
		if err != nil {
			return tag
		}
		t = t.In(zone)
		day := t.Format("Mon 2 Jan 2006, ")
		title := fmt.Sprintf("%s%s (%s)", day, t.Format(time.TimeOnly), zone)
		if t.Format(time.DateOnly) == today {
			day = ""
		}
		return fmt.Appendf(nil, `%s title="%s">%s%s</time>`, bytes.TrimSuffix(tag, []byte("></time>")), title, day, t.Format("15:04"))
	})
}

// A frame is what stands around every page of somebody who is signed in.
type frame struct {
	Title string
	Me    *core.Person
	Admin bool
	Here  string // which entry of the menu it is
	List  *sessionList
	Menu  []entry
	// Waiting is a change of the settings that somebody has to confirm; nil: there is none, or they are no admin.
	Waiting *waitingBody
	Body    any
}

// An entry is one of the menu.
type entry struct {
	Name, Path, Label string
	Admin             bool // for admins alone
}

// frame is what stands around a page of somebody.
func (s *Site) frame(ctx context.Context, v *visitor, here, title string, list *sessionList, body any) frame {
	f := frame{Title: title, Me: v.person, Admin: v.admin(), Here: here, List: list, Body: body}
	for _, e := range s.menu {
		if !e.Admin || f.Admin {
			f.Menu = append(f.Menu, e)
		}
	}
	var err error
	if f.Waiting, err = s.waiting(ctx, v); err != nil {
		s.Log.WarnContext(ctx, "it could not be looked whether a change of the settings waits", "error", err)
	}
	return f
}

// write answers with a template of data.
func (s *Site) write(w http.ResponseWriter, r *http.Request, status int, name string, data any) {
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, name, data); err != nil {
		s.Log.ErrorContext(r.Context(), "a page could not be made", "page", name, "error", err)
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(s.inZone(b.Bytes(), visitorOf(r))) // the client left
}

// fragment is a part of a page for somebody.
func (s *Site) fragment(v *visitor, name string, data any) (string, error) {
	var b bytes.Buffer
	err := s.pages.ExecuteTemplate(&b, name, data)
	return string(s.inZone(b.Bytes(), v)), err
}

// isPart says that htmx asks, which wants a part of a page.
func isPart(r *http.Request) bool {
	return r.Header.Get("HX-Request") == "true" && r.Header.Get("HX-History-Restore-Request") != "true"
}

// titles are those of refusals; others did not work.
var titles = map[int]string{
	http.StatusUnauthorized: "You are not signed in", http.StatusForbidden: "That is not for you", http.StatusNotFound: "Not found",
	http.StatusTooManyRequests: "Not now", http.StatusServiceUnavailable: "Not now",
}

// refuse answers with a sentence for people.
func (s *Site) refuse(w http.ResponseWriter, r *http.Request, status int, sentence string) {
	if isPart(r) {
		w.Header().Set("HX-Retarget", "#toast")
		w.Header().Set("HX-Reswap", "innerHTML")
		w.Header().Set("HX-Reselect", "unset")
		s.write(w, r, status, "toast", sentence)
		return
	}
	s.write(w, r, status, "refused", map[string]any{"Title": cmp.Or(titles[status], "That did not work"), "Sentence": sentence})
}

// fail answers with what went wrong.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, sentence := s.wrong(r, err)
	s.refuse(w, r, status, sentence)
}

// wrong is what went wrong: what is the reader's business in words, else that the log has more.
func (s *Site) wrong(r *http.Request, err error) (status int, said string) {
	if refused, ok := errors.AsType[refusal](err); ok {
		return refused.status, refused.sentence
	}
	if refused, ok := errors.AsType[*core.StateError](err); ok {
		return http.StatusConflict, refused.Sentence
	}
	if f, ok := errors.AsType[*failures.Failure](err); ok && f.Err.Status < http.StatusInternalServerError {
		return f.Err.Status, sentence(f.Err.Message, f.Err.Hint)
	}
	switch {
	case errors.Is(err, core.ErrNotFound):
		return http.StatusNotFound, "There is no such thing, or it is not yours."
	case errors.Is(err, core.ErrNotNow), errors.Is(err, context.Canceled) && r.Context().Err() != nil: // whom nobody hears
		return http.StatusServiceUnavailable, "The database cannot be asked now. Try again in a moment."
	}
	s.Log.ErrorContext(r.Context(), "a page failed", "path", r.URL.Path, "error", err)
	return http.StatusInternalServerError, "That did not work. The log has more."
}

// sentence is a message of the API for people.
func sentence(message, hint string) string {
	if hint != "" {
		message += "; " + hint
	}
	return words.Upper(message) + "."
}

// show answers with a whole page, and showAs with that status.
func (s *Site) show(w http.ResponseWriter, r *http.Request, here, title, name string, body any) error {
	return s.showAs(w, r, http.StatusOK, here, title, name, body)
}

func (s *Site) showAs(w http.ResponseWriter, r *http.Request, status int, here, title, name string, body any) error {
	v := visitorOf(r)
	list, err := s.sessionList(r, sessions.Query{Text: r.URL.Query().Get("q")}, r.PathValue("key"))
	if err == nil {
		s.write(w, r, status, name, s.frame(r.Context(), v, here, title, list, body))
	}
	return err
}

// part answers with a part of a page.
func (s *Site) part(w http.ResponseWriter, r *http.Request, name string, data any) error {
	s.write(w, r, http.StatusOK, name, data)
	return nil
}

// A handler answers a call, or returns why it does not.
type handler func(w http.ResponseWriter, r *http.Request) error

// tried has a handler's error answered in words.
func (s *Site) tried(page handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := page(w, r); err != nil {
			s.fail(w, r, err)
		}
	}
}

// forAll adds a page for who is signed in, and onlyAdmins one for admins.
func (s *Site) forAll(pattern string, page handler) {
	s.mux.HandleFunc(pattern, s.signedIn(s.tried(page)))
}

func (s *Site) onlyAdmins(pattern string, page handler) {
	s.mux.HandleFunc(pattern, s.forAdmins(s.tried(page)))
}

// A refusal is why a call is not answered, for people.
type refusal struct {
	status   int
	sentence string
}

func (r refusal) Error() string { return r.sentence }

var errNoPage = refusal{http.StatusNotFound, "There is no such page."}

func wrong(sentence string) error { return refusal{http.StatusBadRequest, sentence} }
