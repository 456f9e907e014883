package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/api"
	"switchboard/internal/words"
	"switchboard/router/approvals"
	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/router/outbox"
	"switchboard/router/sessions"
	"switchboard/router/turns"
)

// maxForm is what a form may have besides its files, in bytes; filesMost is how many it may bring.
const (
	maxForm   = 1 << 20
	filesMost = 10
)

func (s *Site) chatPages() {
	s.forAll("GET /c/{key}", s.chat)
	s.forAll("GET /c/{key}/live", s.streaming(s.live))
	s.forAll("GET /c/{key}/older", s.older)
	s.mux.HandleFunc("POST /chat", s.withFiles(s.tried(s.begin)))
	s.mux.HandleFunc("POST /c/{key}/messages", s.withFiles(s.tried(s.post)))
	s.mux.HandleFunc("POST /c/{key}/edit/{message}", s.withFiles(s.tried(s.edit)))
	s.inOurs("POST /c/{key}/press", s.press)
	s.forAll("GET /c/{key}/export", s.export)
	s.forAll("POST /turns/{turn}/cancel", s.cancel)
	s.forAll("POST /approvals/{approval}", s.decide)
	s.forAll("GET /files/{file}", s.file)
}

// chatURL is the page of a session.
func (s *Site) chatURL(session string) string { return s.url("/c/" + url.PathEscape(session)) }

// A chatBody is the page of a conversation.
type chatBody struct {
	Session sessions.Info // its Session is empty: it is not there yet
	Items   []item
	First   int64 // event before which there are older ones; 0: there are none
	State   *conversation
	Ours    bool // it can be written in here
	Looks   bool // an admin reads what somebody else said
	Channel string
	Modes   []choice
	Models  []choice

	Commands []channels.Command
}

// A choice is one of a list to choose from.
type choice struct {
	Value, Label string
	Chosen       bool
}

// choices are what a session has of its own, and what there is to choose from.
func choices(own, settings string, values ...string) []choice {
	list := []choice{{"", settings, own == ""}}
	for _, value := range values {
		if value != settings || own == value {
			list = append(list, choice{value, value, own == value})
		}
	}
	return list
}

// home shows a new conversation.
func (s *Site) home(w http.ResponseWriter, r *http.Request) error {
	return s.show(w, r, "chat", "New chat", "chat", chatBody{Ours: true, State: newConversation("", ""), Commands: s.Commands(visitorOf(r).person.Name), Modes: choices("", s.Mode(), sessions.ModeAct, sessions.ModeAsk), Models: choices("", s.Model(), s.Models()...)})
}

func (s *Site) chat(w http.ResponseWriter, r *http.Request) error {
	v, key := visitorOf(r), r.PathValue("key")
	info, err := s.mine(r.Context(), v, key)
	if errors.Is(err, errAsk) {
		return s.show(w, r, "chat", "Somebody else's chat", "look", info)
	} else if err != nil {
		return err
	}
	body, err := s.upto(r, info, info.LastEvent)
	if err != nil {
		return err
	}
	body.Ours, body.Looks = s.own(v, key), info.Person != v.person.Name
	body.Modes, body.Models = choices(info.Mode, s.Mode(), sessions.ModeAct, sessions.ModeAsk), choices(info.Model, s.Model(), s.Models()...)
	body.Channel, _, _ = strings.Cut(key, ":")
	body.State.Last = max(body.State.Last, info.LastEvent)
	if body.Ours {
		body.Commands = s.Commands(v.person.Name)
	}
	return s.show(w, r, "chat", info.Title, "chat", body)
}

// upto is what was said in a session up to an event, as much as is shown at once.
func (s *Site) upto(r *http.Request, info sessions.Info, last int64) (*chatBody, error) {
	from := max(info.FirstEvent-1, last-window)
	seen, err := s.read(r.Context(), visitorOf(r), info.Session, from, last)
	if err != nil {
		return nil, err
	}
	body := &chatBody{Session: info, Items: seen.items, State: seen}
	if from >= info.FirstEvent {
		body.First = from + 1
	}
	return body, nil
}

// older answers with what was said before an event.
func (s *Site) older(w http.ResponseWriter, r *http.Request) error {
	info, err := s.mine(r.Context(), visitorOf(r), r.PathValue("key"))
	before, wrong := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64)
	if err == nil && (wrong != nil || before < 1) {
		err = core.ErrNotFound
	}
	if err != nil {
		return err
	}
	body, err := s.upto(r, info, before-1)
	if err != nil {
		return err
	}
	return s.part(w, r, "older", body)
}

// form reads a message and keeps its files.
func (s *Site) form(w http.ResponseWriter, r *http.Request) (m channels.Message, err error) {
	end, ok := s.forms.Begin(visitorOf(r).person.Name, formsMost)
	if !ok {
		return m, &core.StateError{Sentence: "Other messages of yours are on their way still. Send it again in a moment."}
	}
	defer end()
	if err := s.parse(w, r); err != nil {
		return m, &core.StateError{Sentence: "The message did not come whole, or it or its files are too large. Send it again."}
	}
	m.Text = strings.ReplaceAll(r.PostFormValue("text"), "\r\n", "\n")
	var brought []*multipart.FileHeader
	if r.MultipartForm != nil {
		defer r.MultipartForm.RemoveAll()
		brought = r.MultipartForm.File["files"]
	}
	if len(brought) > filesMost {
		return m, &core.StateError{Sentence: fmt.Sprintf("A message has %d files at most.", filesMost)}
	}
	for _, f := range brought {
		if f.Filename == "" {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return m, err
		}
		kept, err := s.Files.Upload(r.Context(), Kind+":"+visitorOf(r).person.Name, f.Filename, in)
		in.Close()
		switch {
		case errors.Is(err, files.ErrTooLarge):
			return m, &core.StateError{Sentence: f.Filename + " is too large: a file has " + words.Size(s.Files.MaxSize()) + " at most."}
		case errors.Is(err, tools.ErrFileRefused):
			return m, &core.StateError{Sentence: "The file cannot be kept now: " + err.Error()}
		case err != nil:
			return m, err
		}
		m.Attachments = append(m.Attachments, channels.Attachment{Upload: kept.ID, Kind: kept.Kind, Name: kept.Name, Type: kept.Type, Size: kept.Size})
	}
	if strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0 {
		return m, &core.StateError{Sentence: "Write something first."}
	}
	return m, nil
}

// parse reads a form. What it has besides its files is in memory, so that has maxForm bytes at most.
func (s *Site) parse(w http.ResponseWriter, r *http.Request) error {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "multipart/form-data" {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		return r.ParseForm()
	}
	limit := int64(1 << 40)
	if most := s.Files.MaxSize(); most > 0 {
		limit = maxForm + filesMost*most
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	if err := r.ParseMultipartForm(maxForm); err != nil {
		return err
	}
	others := 0
	for _, values := range r.MultipartForm.Value {
		for _, value := range values {
			others += len(value)
		}
	}
	if others > maxForm {
		_ = r.MultipartForm.RemoveAll()
		return &http.MaxBytesError{Limit: maxForm}
	}
	return nil
}

// event is one of somebody in a session of theirs. Key makes a repeated one harmless.
func (s *Site) event(v *visitor, session string, kind channels.EventKind, key string) channels.Event {
	return channels.Event{
		Kind: kind, Key: channels.EventKey(session + ":" + key), Conversation: conversationOf(session), At: time.Now().UTC(),
		Sender: channels.Sender{ID: v.person.Name, Label: v.person.Name, Person: v.person.Name, Browser: true},
	}
}

// conversationOf is the conversation of a session of ours.
func conversationOf(session string) channels.Conversation {
	conv := core.OfSession(session)
	conv.Kind, conv.Place = channels.Direct, string(conv.ID)
	return conv
}

// accept hands an event in. *core.StateError says why it was not taken.
func (s *Site) accept(ctx context.Context, event channels.Event) (channels.Receipt, error) {
	got, err := s.Channel.Accept(ctx, event)
	if err == nil {
		err = refused(got)
	}
	return got, err
}

// refused says why an event was not taken; nil: it was.
func refused(got channels.Receipt) error {
	if why := got.Busy + got.Rejected; why != "" {
		return &core.StateError{Sentence: sentence(why, "")}
	}
	return nil
}

// begin takes the first message of a new session.
func (s *Site) begin(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	m, err := s.form(w, r)
	// Who sends the form again, as its answer did not come, is led to the chat that there is.
	name := sha256.Sum256([]byte(v.person.Name + "\x00" + keyOf(r, rand.Text())))
	session := s.Channel.Name() + ":" + v.person.Name + "/" + hex.EncodeToString(name[:8])
	own := map[sessions.Setting]string{sessions.Mode: r.PostFormValue("mode"), sessions.Model: r.PostFormValue("model")}
	for of, to := range own {
		if err == nil {
			err = s.settable(of, to)
		}
	}
	for of, to := range own { // before the message, which is worked on at once
		if err == nil && to != "" {
			err = s.Changer.Change(r.Context(), &sessions.Change{Conversation: conversationOf(session), Of: of, To: to, Begins: v.person.Name}, v.actor())
		}
	}
	if err == nil {
		err = s.say(r, session, m)
	}
	return s.led(w, r, "/c/"+url.PathEscape(session), err)
}

// post takes a message.
func (s *Site) post(w http.ResponseWriter, r *http.Request) error {
	session := r.PathValue("key")
	_, err := s.mine(r.Context(), visitorOf(r), session)
	var m channels.Message
	if err == nil {
		m, err = s.form(w, r)
	}
	if err == nil {
		err = s.say(r, session, m)
	}
	return s.done(w, r, session, err)
}

// done answers what a form asked for, whose result comes with the session's events.
func (s *Site) done(w http.ResponseWriter, r *http.Request, session string, err error) error {
	switch {
	case err != nil:
	case isPart(r):
		w.WriteHeader(http.StatusNoContent)
	case r.PostFormValue("from") == "now":
		http.Redirect(w, r, s.url("/now"), http.StatusSeeOther)
	case session == "":
		http.Redirect(w, r, s.url("/"), http.StatusSeeOther)
	default:
		http.Redirect(w, r, s.chatURL(session), http.StatusSeeOther)
	}
	return err
}

// say hands in what a form says.
func (s *Site) say(r *http.Request, session string, m channels.Message) error {
	id, v := rand.Text(), visitorOf(r)
	if !s.own(v, session) {
		got, err := s.Writer.WriteIn(r.Context(), v.person.Name, session, keyOf(r, id), m.Text, m.Attachments)
		if err == nil {
			err = refused(got)
		}
		return err
	}
	event := s.event(v, session, channels.EventMessage, keyOf(r, id))
	m.ID = channels.MessageID(id)
	event.Message = m
	_, err := s.accept(r.Context(), event)
	return err
}

// keyOf is the key that page.js gave a message, which is sent again with the same one where its answer did not come.
func keyOf(r *http.Request, otherwise string) string {
	if key := r.PostFormValue("key"); key != "" && len(key) <= 64 {
		return key
	}
	return otherwise
}

// edit changes a message of somebody's. One that was answered is written again.
func (s *Site) edit(w http.ResponseWriter, r *http.Request) error {
	v, session, err := visitorOf(r), r.PathValue("key"), s.ours(r)
	id, wrong := strconv.ParseInt(r.PathValue("message"), 10, 64)
	if err == nil && wrong != nil {
		err = core.ErrNotFound
	}
	var m channels.Message
	if err == nil {
		m, err = s.form(w, r)
	}
	var wrote sessions.Wrote
	if err == nil {
		wrote, err = s.Chats.WroteAs(r.Context(), session, id)
	}
	if err == nil {
		event := s.event(v, session, channels.EventEdited, "edit:"+rand.Text())
		if m.ID = wrote.ID; !turns.TurnState(wrote.State).Open() {
			event.Kind, m.ID = channels.EventMessage, channels.MessageID(rand.Text())
		}
		event.Message = m
		_, err = s.accept(r.Context(), event)
	}
	return s.done(w, r, session, err)
}

// press presses a button.
func (s *Site) press(w http.ResponseWriter, r *http.Request) error {
	v, session := visitorOf(r), r.PathValue("key")
	m := &message{Session: session}
	m.ID, _ = strconv.ParseInt(r.PostFormValue("message"), 10, 64)
	event := s.event(v, session, channels.EventAction, "press:"+rand.Text())
	event.Action = channels.Action{Code: r.PostFormValue("code")}
	there, err := s.Chats.Buttons(r.Context(), m.ID)
	for _, b := range there[m.ID] {
		if b.Code == event.Action.Code { // else it is of another message, perhaps somebody else's
			m.Buttons = there[m.ID]
			event.Message.Metadata, _ = json.Marshal(pressed{b.Label}) // a text
		}
	}
	var got channels.Receipt
	if err == nil {
		got, err = s.accept(r.Context(), event)
	}
	if err == nil && m.Buttons != nil {
		there, err = s.Chats.Buttons(r.Context(), m.ID)
		m.Buttons = there[m.ID]
	}
	if err != nil || !isPart(r) {
		return s.done(w, r, session, err)
	}
	return s.part(w, r, "pressed", map[string]any{"Message": m, "Toast": got.Toast})
}

func (s *Site) cancel(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	t, err := s.turn(r)
	if err != nil {
		return err
	}
	return s.done(w, r, t.Session, s.Changer.Cancel(r.Context(), t.ID, v.actor()))
}

// decide decides an approval in the name of the visitor.
func (s *Site) decide(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	id, _ := strconv.ParseInt(r.PathValue("approval"), 10, 64)
	d := &approvals.Decision{ID: id, Does: outbox.Does(r.PostFormValue("does"))}
	err := s.Changer.Change(r.Context(), d, v.actor())
	if text := approvals.Texts[d.Outcome]; text != "" && err != nil {
		err = &core.StateError{Sentence: text}
	}
	if err == nil && isPart(r) {
		return s.part(w, r, "approval", &approval{ID: id, State: string(d.State), By: v.person.Name})
	}
	return s.done(w, r, "", err)
}

// file answers with the bytes of a file of a session that somebody may read, or that they brought.
func (s *Site) file(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	id, _ := strconv.ParseInt(r.PathValue("file"), 10, 64)
	f, err := s.Files.Found(r.Context(), id)
	if err == nil && (f.Session != "" || f.Uploader != Kind+":"+v.person.Name) { // who was called so before may have brought it
		_, err = s.mine(r.Context(), v, f.Session)
	}
	if err == nil {
		err = api.Deliver(w, r, s.Files, f, false)
	}
	return err
}

// export answers with all that was said in a session, as Markdown.
func (s *Site) export(w http.ResponseWriter, r *http.Request) error {
	info, err := s.mine(r.Context(), visitorOf(r), r.PathValue("key"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": cmp.Or(info.Title, "chat") + ".md"}))
	if err := api.ExportMarkdown(r.Context(), w, s.Chats, &info); err != nil {
		s.Log.WarnContext(r.Context(), "an export ended early", "session", info.Session, "error", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}
