package telegramtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
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
		if Units(d.Text) > maxText {
			return nil, fmt.Errorf("one message has at most %d characters", maxText)
		}
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
	if c == nil || strings.TrimSpace(d.Text) == "" && d.Text != "" {
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

// actSend writes as the platform's apps do: long texts in several messages, pictures
// as photos. Whoever blocked the bot unblocks it by writing.
func (s *Server) actSend(d deed) (any, error) {
	p := Post{Chat: d.Chat, From: d.User, Thread: d.Thread, ReplyTo: d.Message}
	for _, h := range d.Files {
		f, err := read(h)
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, f)
	}
	texts := pieces(d.Text)
	switch n := len(p.Files); {
	case n > 10:
		return nil, errors.New("at most 10 files go at once")
	case n > 0 && (len(texts) > 1 || len(texts) == 1 && Units(texts[0]) > maxCaption):
		return nil, fmt.Errorf("a text that comes with files has at most %d characters; send it on its own", maxCaption)
	case n > 0 && len(texts) == 0:
		texts = []string{""}
	case len(texts) == 0:
		return nil, errors.New("the message is empty")
	}
	if d.Chat == d.User {
		s.Block(d.User, false)
	}
	var sent []Message
	for _, p.Text = range texts {
		sent = append(sent, s.Post(p)...)
		p.ReplyTo = 0
	}
	return sent, nil
}

// pieces cuts a text into messages, at the end of a line if there is one, else of a
// word, else anywhere.
func pieces(text string) (parts []string) {
	for text = strings.TrimSpace(text); text != ""; {
		end, line, word, units := len(text), 0, 0, 0
		for i, r := range text {
			if units += utf16.RuneLen(r); units > maxText {
				end = cmp.Or(line, word, i)
				break
			}
			switch {
			case r == '\n':
				line = i
			case unicode.IsSpace(r):
				word = i
			}
		}
		parts = append(parts, strings.TrimRightFunc(text[:end], unicode.IsSpace))
		text = strings.TrimLeftFunc(text[end:], unicode.IsSpace)
	}
	return parts
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
