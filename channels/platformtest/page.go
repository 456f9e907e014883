package platformtest

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// assets are the page on which a person chats with the bot as a user.
//
//go:embed page
var assets embed.FS

// maxUpload is the most that one form of the page may hold, in bytes.
const maxUpload = 64 << 20

// A Page is what a fake platform shows in a browser, and what people do there.
type Page interface {
	// View is what a user sees in a chat. Either may be empty or unknown: then it shows
	// the users alone, or no messages.
	View(user, chat string) View
	// Do carries a deed out. What it returns goes back as JSON; an error is told to whoever did it.
	Do(d Deed) (any, error)
	// File finds a file of a message.
	File(id string) (f File, ok bool)
}

// A View is what the page shows to a user in one chat.
type View struct {
	Platform  string            `json:"platform"` // as people call it
	Colour    string            `json:"colour"`   // its own, "#rrggbb"
	Bot       User              `json:"bot"`
	Mention   string            `json:"mention"`   // how people name the bot in a group
	Connected bool              `json:"connected"` // the bot listens
	Note      string            `json:"note"`      // what people have to know of this platform
	Signs     []string          `json:"signs"`     // emoji that the page offers as reactions
	Users     []User            `json:"users"`     // people
	Chats     []Chat            `json:"chats"`     // the user's
	Messages  []Message         `json:"messages"`
	Working   string            `json:"working"` // what the bot does now, "typing…"
	Commands  []Command         `json:"commands"`
	Answers   map[string]Answer `json:"answers"` // to the newest presses
	Blocks    bool              `json:"blocks"`  // people can block the bot
	Blocked   bool              `json:"blocked"`
}

// A User is somebody the page knows.
type User struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// A Chat is a chat in the list. Where Apart is set, the messages of a thread are shown
// by themselves.
type Chat struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Direct  bool     `json:"direct"` // with the bot
	Apart   bool     `json:"apart"`
	Threads []Thread `json:"threads,omitempty"`
}

// A Thread is a topic or thread in a chat.
type Thread struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// A Message is a message as the page shows it.
type Message struct {
	ID        string     `json:"id"`
	Author    User       `json:"author"`
	Bot       bool       `json:"bot,omitempty"`    // written by a bot
	Notice    string     `json:"notice,omitempty"` // what the platform itself says; nothing else is set
	Thread    string     `json:"thread,omitempty"`
	Forwarded bool       `json:"forwarded,omitempty"`
	To        *Quoted    `json:"to,omitempty"` // what it answers
	Text      string     `json:"text"`
	Marks     []Mark     `json:"marks,omitempty"`
	Files     []Shown    `json:"files,omitempty"`
	Extras    []string   `json:"extras,omitempty"` // a place, a contact, in words
	Buttons   [][]Button `json:"buttons,omitempty"`
	Reactions []string   `json:"reactions,omitempty"`
	Before    []string   `json:"before,omitempty"` // its former texts, oldest first
	At        int64      `json:"at"`               // Unix milliseconds
}

// A Quoted is the message that another one answers.
type Quoted struct {
	Author string `json:"author"`
	Text   string `json:"text"`
}

// A Mark gives a piece of a text its look. From and Length count UTF-16 units.
type Mark struct {
	// Type is bold, italic, underline, strike, code, pre, quote, folded, spoiler, link,
	// email, command or named (a mention, a tag).
	Type     string `json:"type"`
	From     int    `json:"from"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

// A Shown is a file of a message.
type Shown struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Picture bool   `json:"picture,omitempty"`
}

// A Button is one under a message; with a URL it opens that.
type Button struct {
	Label string `json:"label"`
	Code  string `json:"code,omitempty"`
	URL   string `json:"url,omitempty"`
}

// A Command is one that the platform offers.
type Command struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// An Answer is what came back to whoever pressed a button.
type Answer struct {
	Done  bool   `json:"done"` // the bot answered; until then the button shows that it waits
	Text  string `json:"text"` // a line at the top of the chat, or a window with Alert
	Alert bool   `json:"alert"`
}

// A Deed is what a person does on the page.
type Deed struct {
	Name    string // send, edit, delete, press, react, block, person
	User    string
	Chat    string
	Message string // the one that it is about, or that is answered
	Thread  string
	Text    string
	Files   []File
}

// A File is what somebody sends. Kind is document, photo, voice, audio, video or
// sticker; empty is document. Size is told instead of the length of Data when it is
// set, so that a test need not hold a large file.
type File struct {
	Kind string
	Name string
	Type string // media type
	Data []byte
	Size int64
}

// Bytes is the size that is told of the file.
func (f *File) Bytes() int64 { return cmp.Or(f.Size, int64(len(f.Data))) }

// ErrDeed says that a person cannot do this here.
var ErrDeed = errors.New("that cannot be done here")

// deeds are what a person can do, by the last part of the path.
var deeds = []string{"send", "edit", "delete", "press", "react", "block", "person"}

// page serves the page and what it asks for. Only this machine's own pages may ask:
// other names for this address and other origins are refused.
func (h *Host) page(p Page) http.Handler {
	files, err := fs.Sub(assets, "page")
	if err != nil {
		panic(err) // it is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /page/events", func(w http.ResponseWriter, r *http.Request) { h.serveEvents(w, r, p) })
	mux.HandleFunc("GET /page/file", func(w http.ResponseWriter, r *http.Request) { serveKept(w, r, p) })
	for _, name := range deeds {
		mux.HandleFunc("POST /page/"+name, func(w http.ResponseWriter, r *http.Request) { serveDeed(w, r, name, p) })
	}
	protected := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !here(r) {
			http.Error(w, "this page is at 127.0.0.1 only", http.StatusForbidden)
			return
		}
		header := w.Header()
		header.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		protected.ServeHTTP(w, r)
	})
}

// serveEvents sends the view whenever it changed, as server-sent events.
func (h *Host) serveEvents(w http.ResponseWriter, r *http.Request, p Page) {
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := http.NewResponseController(w)
	look := time.NewTicker(time.Second) // typing ends by itself
	defer look.Stop()
	var last []byte
	for {
		h.Lock()
		changed := h.changed
		h.Unlock()
		data, err := json.Marshal(p.View(r.FormValue("user"), r.FormValue("chat")))
		if err != nil {
			return
		}
		if !bytes.Equal(data, last) {
			last = data
			if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil || flusher.Flush() != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-look.C:
		}
	}
}

// serveDeed reads a form, has the deed done and answers.
func serveDeed(w http.ResponseWriter, r *http.Request, name string, p Page) {
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	if err := r.ParseMultipartForm(8 << 20); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		http.Error(w, "the form cannot be read, or the file is larger than 50 MB", http.StatusBadRequest)
		return
	}
	d := Deed{
		Name: name, User: r.FormValue("user"), Chat: r.FormValue("chat"), Message: r.FormValue("message"), Thread: r.FormValue("thread"),
		Text: strings.ReplaceAll(r.FormValue("text"), "\r\n", "\n"),
	}
	err := error(nil)
	if r.MultipartForm != nil {
		defer r.MultipartForm.RemoveAll()
		d.Files, err = uploads(r.MultipartForm.File["file"])
	}
	var result any
	if err == nil {
		result, err = p.Do(d)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result)
}

// uploads takes the files of a form; what one is shown as goes by its content.
func uploads(list []*multipart.FileHeader) (files []File, err error) {
	for _, h := range list {
		f := File{Name: h.Filename, Type: h.Header.Get("Content-Type")}
		opened, err := h.Open()
		if err != nil {
			return nil, err
		}
		f.Data, err = io.ReadAll(opened)
		_ = opened.Close()
		if err != nil {
			return nil, err
		}
		switch typ := http.DetectContentType(f.Data); {
		case typ == "image/png" || typ == "image/jpeg" || typ == "image/webp":
			f.Kind = "photo"
		case strings.HasPrefix(f.Type, "audio/"):
			f.Kind = "audio"
		case strings.HasPrefix(f.Type, "video/"):
			f.Kind = "video"
		}
		files = append(files, f)
	}
	return files, nil
}

// inline are the types that the page shows as pictures; all others are downloads.
var inline = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// serveKept serves a file of a message.
func serveKept(w http.ResponseWriter, r *http.Request, p Page) {
	f, ok := p.File(r.FormValue("id"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	typ := http.DetectContentType(f.Data)
	if r.FormValue("show") == "" || !slices.Contains(inline, typ) {
		typ = "application/octet-stream"
		name := strings.ReplaceAll(url.QueryEscape(cmp.Or(f.Name, "file")), "+", "%20")
		w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''"+name)
	}
	w.Header().Set("Content-Type", typ)
	w.Header().Set("Content-Length", strconv.Itoa(len(f.Data)))
	_, _ = w.Write(f.Data)
}
