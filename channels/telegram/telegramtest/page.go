package telegramtest

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// assets are the page on which a person chats with the bot as a user.
//
//go:embed page
var assets embed.FS

// page serves the page and what it asks for. Only this machine's own pages may ask:
// other names for this address and other origins are refused.
func (s *Server) page() http.Handler {
	files, err := fs.Sub(assets, "page")
	if err != nil {
		panic(err) // it is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /page/events", s.serveEvents)
	mux.HandleFunc("GET /page/file", s.serveKept)
	for name, act := range acts {
		mux.HandleFunc("POST /page/"+name, func(w http.ResponseWriter, r *http.Request) { s.serveAct(w, r, act) })
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

// A view is what the page shows to a user in one chat.
type view struct {
	Bot       User              `json:"bot"`
	Connected bool              `json:"connected"` // the bot listens
	Users     []User            `json:"users"`     // people
	Chats     []place           `json:"chats"`     // the user's
	Messages  []Shown           `json:"messages"`
	Typing    bool              `json:"typing"`
	Commands  []Command         `json:"commands"`
	Answers   map[string]Answer `json:"answers"` // to the newest presses
	Blocked   bool              `json:"blocked"`
}

// A place is a chat in the list.
type place struct {
	Chat
	Topics []topic `json:"topics,omitempty"`
}

type topic struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// view looks at the first bot's chats; a chat that is not there is shown empty.
func (s *Server) view(user, chatID int64) view {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bots[0]
	v := view{Bot: b.User, Connected: s.listening(b), Messages: []Shown{}, Answers: map[string]Answer{}, Commands: []Command{}}
	for _, u := range s.users {
		if !u.IsBot {
			v.Users = append(v.Users, *u)
		}
	}
	slices.SortFunc(v.Users, func(a, b User) int { return int(a.ID - b.ID) })
	if s.users[user] == nil {
		return v
	}
	direct := s.direct(b, s.users[user])
	v.Blocked = direct.members[b.User.ID] == "kicked"
	v.Chats = append(v.Chats, place{Chat: direct.Chat})
	for key, c := range s.chats {
		if status := c.members[user]; key.bot != 0 || c.moved != 0 || status == "" || status == "left" || status == "kicked" {
			continue
		}
		p := place{Chat: c.Chat}
		for id, name := range c.topics {
			p.Topics = append(p.Topics, topic{id, name})
		}
		slices.SortFunc(p.Topics, func(a, b topic) int { return int(a.ID - b.ID) })
		v.Chats = append(v.Chats, p)
	}
	slices.SortFunc(v.Chats[1:], func(a, b place) int { return int(b.ID - a.ID) })
	if !slices.ContainsFunc(v.Chats, func(p place) bool { return p.ID == chatID }) {
		return v
	}
	c := s.find(b, chatID)
	v.Messages = append(v.Messages, slices.DeleteFunc(s.history(c), func(m Shown) bool { return m.Deleted })...)
	v.Typing = s.typing(b, c)
	v.Commands = append(v.Commands, s.menu(b, c, user)...)
	for id, p := range b.pressed {
		if s.now().Sub(p.at) < time.Minute {
			v.Answers[id] = p.Answer
		}
	}
	return v
}

// listening reports whether a bot waits for updates now.
func (s *Server) listening(b *Bot) bool {
	return b.polling > 0 || b.hook != nil || !b.polled.IsZero() && s.now().Sub(b.polled) < 5*time.Second
}

// serveEvents sends the view whenever it changed, as server-sent events.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	user, _ := strconv.ParseInt(r.FormValue("user"), 10, 64)
	chatID, _ := strconv.ParseInt(r.FormValue("chat"), 10, 64)
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := http.NewResponseController(w)
	look := time.NewTicker(time.Second) // typing ends by itself
	defer look.Stop()
	var last []byte
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		data, err := json.Marshal(s.view(user, chatID))
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

// inline are the types that the page shows as pictures; all others are downloads.
var inline = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// serveKept serves a file of a message.
func (s *Server) serveKept(w http.ResponseWriter, r *http.Request) {
	f, ok := s.File(r.FormValue("id"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	typ := http.DetectContentType(f.Data)
	if r.FormValue("show") == "" || !slices.Contains(inline, typ) {
		typ = "application/octet-stream"
		w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''"+escapeName(f.Name))
	}
	w.Header().Set("Content-Type", typ)
	w.Header().Set("Content-Length", strconv.Itoa(len(f.Data)))
	_, _ = w.Write(f.Data)
}
