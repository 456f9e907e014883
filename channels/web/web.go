package web

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"switchboard/channels"
	"switchboard/channels/api"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/memory"
	"switchboard/router/money"
	"switchboard/router/people"
	"switchboard/router/sessions"
	"switchboard/router/settings"
)

// Kind is the kind of the channel whose sessions are in browsers.
const Kind = "web"

// Features are what a conversation in a browser accepts.
var Features = channels.Features{Markdown: true, Files: true, Buttons: true}

// Deps are what the page needs.
type Deps struct {
	Log     *slog.Logger
	Channel *api.Channel
	People  People
	// PublicURL is where people reach the page from elsewhere; empty: nowhere else.
	PublicURL string

	Browsers  Browsers
	Tokens    Tokens
	Chats     Chats
	Turns     api.Turns
	Approvals api.Approvals
	Changer   api.Changer
	Writer    Writer
	Files     api.Files
	Models    func() []string
	Commands  func(person string) []channels.Command // that a chat offers somebody
	Currency  func() string
	Visits    api.Visits
	Program   Program
	Jobs      Jobs
	JobReader api.JobReader
	Memory    *memory.Service
	Money     Money
	Budget    func() money.Budget
	// Mode is what a session without a mode of its own does; Model plans in one without a model of its own.
	Mode, Model func() string

	// What the pages of people, secrets, tokens and the audit log need.
	Register    people.Door
	Asking      Asking
	Judge       people.Judge
	BrowserList BrowserList
	// SignInLink makes a link that signs somebody in.
	SignInLink  func(ctx context.Context, person string, by core.Actor) (string, error)
	SecretList  settings.SecretList
	Secrets     settings.Secrets
	TokenKeeper TokenKeeper
	AuditLog    audit.Log
	// Named is the settings file, and whom it names so; nil: nobody.
	Named func(name string) (file string, as *core.Person)
	// Usable are the tools that a person may use on a channel.
	Usable func(person, channel string) []string
	// Verify holds the audit log to its seals, and says in words how far it proves itself, or where it was changed.
	Verify   func(ctx context.Context) (says string, good bool, err error)
	Settings settings.Keeper
	// About is what a setting means, and why it cannot be changed at run time; either may be empty.
	About func(key string) (means, fixed string)
	// Filed says that there is a settings file: elsewhere the defaults count.
	Filed func() bool
	// SaveSettings writes what was changed at run time into the file; the change takes it out of what lies above the file.
	SaveSettings func(ctx context.Context) (SavedSettings, *settings.Change, error)
	Setup        Setup
	// OpenClaim is when the newest claim code that is still good was made, and until when it is; zero: there is none.
	OpenClaim func(ctx context.Context) (made, until time.Time, err error)
}

// People knows who there is.
type People interface {
	// Named is the person of that name; nil: nobody.
	Named(name string) *core.Person
}

// A Site serves the page.
type Site struct {
	Deps
	base   string // what every path begins with: "", or "/bot"
	origin string // of PublicURL: "https://bot.example.org"
	format *formatter
	pages  *template.Template
	mux    *http.ServeMux
	assets map[string]asset
	menu   []entry
	claims atomic.Pointer[claimCode] // that nothing else shows again
	looks  looks

	streams, forms api.Busy // of each person
}

// New makes the page. It does no I/O.
func New(deps Deps) *Site {
	s := &Site{Deps: deps, mux: http.NewServeMux(), assets: readAssets()}
	if u, err := url.Parse(deps.PublicURL); err == nil && u.Host != "" {
		s.base, s.origin = strings.TrimSuffix(u.EscapedPath(), "/"), u.Scheme+"://"+u.Host
	}
	s.format = newFormatter(s.url)
	s.pages = s.templates()
	s.signInPages()
	s.chatPages()
	s.sessionPages()
	s.whyPages()
	s.nowPages()
	s.jobPages()
	s.memoryPages()
	s.moneyPages()
	s.peoplePages()
	s.secretPages()
	s.tokenPages()
	s.auditPages()
	s.mePages()
	s.settingsPages()
	s.setupPages()
	s.mux.HandleFunc("GET /assets/{name}", s.asset)
	s.mux.HandleFunc("GET /manifest.webmanifest", s.manifest)
	s.forAll("GET /{$}", s.home)
	s.mux.HandleFunc("/", s.nothing)
	return s
}

// url is the address of a page of ours.
func (s *Site) url(path string) string { return s.base + path }

// Handler serves every page.
func (s *Site) Handler() http.Handler {
	guard := http.NewCrossOriginProtection()
	if s.origin != "" {
		_ = guard.AddTrustedOrigin(s.origin) // it was parsed
	}
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusForbidden, "Another page sent this. Open the page here, and try again.")
	}))
	pages := guard.Handler(s.mux)
	squeeze, err := gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.ContentTypes([]string{"text/html", "text/css", "text/javascript", "image/svg+xml"}))
	if err != nil {
		panic(err) // the options are ours
	}
	squeezed := squeeze(pages)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if s.base != "" {
			below := func(path string) string { return "/" + strings.TrimPrefix(strings.TrimPrefix(path, s.base), "/") }
			if r.URL.Path = below(r.URL.Path); r.URL.RawPath != "" { // keys of sessions hold a slash
				r.URL.RawPath = below(r.URL.RawPath)
			}
		}
		out, wait := http.NewResponseController(w), formWait
		if strings.HasPrefix(r.URL.Path, "/signin") {
			wait = signInWait
		}
		_ = out.SetReadDeadline(time.Now().Add(wait)) // not every connection has one
		_ = out.SetWriteDeadline(time.Now().Add(formWait))
		if strings.HasSuffix(r.URL.Path, "/live") { // a stream is sent as it comes
			pages.ServeHTTP(w, r)
		} else {
			squeezed.ServeHTTP(w, r)
		}
	})
}

// formWait is how long a form, or a page, may take to come whole, and signInWait a form of nobody known. What streams sets times of its own.
const formWait, signInWait = 5 * time.Minute, 10 * time.Second

// contentPolicy lets a page load what the program serves and nothing else, and nobody frame it.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

//go:embed assets
var assetFiles embed.FS

// An asset is a file that pages load. Its name in addresses has a part of its digest, so that browsers may keep it.
type asset struct {
	data      []byte
	mediaType string
	mark      string
}

func readAssets() map[string]asset {
	list := map[string]asset{}
	entries, _ := fs.ReadDir(assetFiles, "assets") // it is there
	for _, e := range entries {
		data, err := assetFiles.ReadFile("assets/" + e.Name())
		kind := map[string]string{
			"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml", "png": "image/png", "webmanifest": "application/manifest+json",
		}[e.Name()[strings.LastIndexByte(e.Name(), '.')+1:]]
		if err != nil || kind == "" {
			continue
		}
		sum := sha256.Sum256(data)
		list[e.Name()] = asset{data, kind, base64.RawURLEncoding.EncodeToString(sum[:6])}
	}
	return list
}

// assetURL is where a page finds an asset.
func (s *Site) assetURL(name string) string {
	return s.url("/assets/" + name + "?v=" + s.assets[name].mark)
}

func (s *Site) asset(w http.ResponseWriter, r *http.Request) {
	a, there := s.assets[r.PathValue("name")]
	if !there {
		s.nothing(w, r)
		return
	}
	w.Header().Set("Content-Type", a.mediaType)
	if r.URL.Query().Get("v") == a.mark {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(a.data) // the client left
}

// manifest lets browsers install the page.
func (s *Site) manifest(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/manifest+json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client left
		"name": "Switchboard", "short_name": "Switchboard", "start_url": s.url("/"), "scope": s.url("/"), "display": "standalone",
		"background_color": "#fbfbf9", "theme_color": "#2457b8",
		"icons": []map[string]string{{"src": s.assetURL("icon.svg"), "sizes": "any", "type": "image/svg+xml", "purpose": "any"}},
	})
}

// nothing answers for pages that there are not.
func (s *Site) nothing(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, errNoPage)
}

// A Writer takes what people write on the page into chats of theirs on other channels.
type Writer interface {
	// WriteIn has it shown there, and then answered there; once by the key. core.ErrNotFound: there is no such chat of theirs.
	WriteIn(ctx context.Context, person, session, key, text string, files []channels.Attachment) (channels.Receipt, error)
}

// A Chats has sessions and what was said in them.
type Chats interface {
	api.SessionReader
	// Buttons are those under messages that can still be pressed, by the number of the message.
	Buttons(ctx context.Context, messages ...int64) (map[int64][]channels.Button, error)
	// WroteAs is how a message of a person came into a session. core.ErrNotFound.
	WroteAs(ctx context.Context, session string, message int64) (sessions.Wrote, error)
	// Seen notes how far a person has read a session, and Readings says so of all of theirs.
	Seen(ctx context.Context, person, session string, event int64) error
	Pin(ctx context.Context, person, session string, pinned bool) error
	Readings(ctx context.Context, person string, sessions []string) (map[string]sessions.Reading, error)
}
