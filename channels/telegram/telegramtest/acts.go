package telegramtest

import (
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

func escapeName(name string) string {
	if name == "" {
		name = "file"
	}
	return strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}

// A deed is what a person does on the page.
type deed struct {
	User    int64
	Chat    int64
	Message int64
	Thread  int64
	Text    string
	Files   []*multipart.FileHeader
}

// errDeed is told to the page.
var errDeed = errors.New("that cannot be done here")

// acts are what a person can do on the page, by the last part of its path. What they
// return goes back as JSON.
var acts = map[string]func(s *Server, d deed) (any, error){
	"send": (*Server).actSend,
	"edit": func(s *Server, d deed) (any, error) {
		if !s.wrote(d) {
			return nil, errDeed
		}
		return s.Edit(d.Chat, d.Message, d.Text), nil
	},
	"delete": func(s *Server, d deed) (any, error) {
		if !s.wrote(d) {
			return nil, errDeed
		}
		s.Delete(d.Chat, d.Message)
		return true, nil
	},
	"press": func(s *Server, d deed) (any, error) { return s.Press(d.Chat, d.User, d.Message, d.Text), nil },
	"react": func(s *Server, d deed) (any, error) {
		s.React(d.Chat, d.User, d.Message, strings.Fields(d.Text)...)
		return true, nil
	},
	"block": func(s *Server, d deed) (any, error) {
		s.Block(d.User, d.Text == "true")
		return true, nil
	},
	"person": func(s *Server, d deed) (any, error) {
		name := strings.TrimSpace(d.Text)
		if name == "" || Units(name) > 64 {
			return nil, errDeed
		}
		u := s.AddUser(name)
		for _, c := range s.groupsOf(d.User) {
			s.Join(c, u)
		}
		return u, nil
	},
}

// serveAct reads a form, does the deed and answers.
func (s *Server) serveAct(w http.ResponseWriter, r *http.Request, act func(*Server, deed) (any, error)) {
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload+1<<20)
	if err := r.ParseMultipartForm(8 << 20); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		http.Error(w, "the form cannot be read, or the file is larger than 50 MB", http.StatusBadRequest)
		return
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(r.FormValue(name), 10, 64)
		return n
	}
	d := deed{
		User: number("user"), Chat: number("chat"), Message: number("message"), Thread: number("thread"),
		Text: strings.ReplaceAll(r.FormValue("text"), "\r\n", "\n"),
	}
	if r.MultipartForm != nil {
		d.Files = r.MultipartForm.File["file"]
		defer r.MultipartForm.RemoveAll()
	}
	if !s.may(d) {
		http.Error(w, errDeed.Error(), http.StatusBadRequest)
		return
	}
	result, err := act(s, d)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result)
}

// may reports whether the user is there, and in the chat if one is named.
func (s *Server) may(d deed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[d.User]
	if u == nil || u.IsBot {
		return false
	}
	if d.Chat == 0 || d.Chat == d.User {
		s.direct(s.bots[0], u)
		return true
	}
	c := s.find(s.bots[0], d.Chat)
	return c != nil && c.moved == 0 && c.key.bot == 0 && c.members[d.User] != "" && c.members[d.User] != "left"
}

// wrote reports whether the message is there and the user's.
func (s *Server) wrote(d deed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.find(s.bots[0], d.Chat)
	if c == nil || strings.TrimSpace(d.Text) == "" && d.Text != "" || Units(d.Text) > maxText {
		return false
	}
	r := c.byID(d.Message)
	return r != nil && r.by == d.User
}

// groupsOf are the groups that a user is in.
func (s *Server) groupsOf(user int64) (ids []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, c := range s.chats {
		if key.bot == 0 && c.moved == 0 && c.members[user] != "" && c.members[user] != "left" {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// actSend writes a message as the platform's apps do: long texts in several, pictures
// as photos. Whoever blocked the bot unblocks it by writing.
func (s *Server) actSend(d deed) (any, error) {
	text, _ := trim(d.Text, nil)
	p := Post{Chat: d.Chat, From: d.User, Thread: d.Thread, Text: text, ReplyTo: d.Message}
	for _, h := range d.Files {
		f, err := read(h)
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, f)
	}
	if text == "" && len(p.Files) == 0 || Units(text) > maxText || len(p.Files) > 10 {
		return nil, errors.New("a message has 1 to 4096 characters, or up to 10 files")
	}
	if d.Chat == d.User {
		s.Block(d.User, false)
	}
	return s.Post(p), nil
}

// read takes an uploaded file; what it is shown as goes by its content.
func read(h *multipart.FileHeader) (f File, err error) {
	opened, err := h.Open()
	if err != nil {
		return f, err
	}
	defer opened.Close()
	if f.Data, err = io.ReadAll(opened); err != nil {
		return f, err
	}
	f.Name, f.Type = h.Filename, h.Header.Get("Content-Type")
	switch typ := http.DetectContentType(f.Data); {
	case typ == "image/png" || typ == "image/jpeg" || typ == "image/webp":
		f.Kind = "photo"
	case strings.HasPrefix(f.Type, "audio/"):
		f.Kind = "audio"
	case strings.HasPrefix(f.Type, "video/"):
		f.Kind = "video"
	}
	return f, nil
}

// Furnish makes what a person needs to try a bot: two people, a group of both and a
// forum with topics. It returns the first person. The numbers are the same each time,
// so that a bot knows the chats again.
func (s *Server) Furnish() User {
	ada, bob := s.AddUser("Ada Lovelace"), s.AddUser("Bob Noyce")
	s.AddGroup("Friends", ada, bob)
	forum := s.AddForum("Workshop", ada, bob)
	s.AddTopic(forum.ID, "Ideas")
	s.AddTopic(forum.ID, "Repairs")
	return ada
}
