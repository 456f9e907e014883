package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/router/sessions"
)

// The calls of an OpenAI-compatible server, as far as clients for chats use them.
//
// Source: https://platform.openai.com/docs/api-reference/chat and …/chat-streaming.

// A Chatter keeps the sessions of clients that send a whole conversation with each call. The functions of store/sessions say more.
type Chatter interface {
	Branches(ctx context.Context, session string) ([]sessions.Branch, error)
	ChatCall(ctx context.Context, key []byte) (*sessions.ChatCall, error)
	OpenChat(ctx context.Context, o *sessions.Opening) (*sessions.ChatCall, error)
	ChatHeard(ctx context.Context, key []byte, generation int64) error
}

// A Plainer asks the model alone, as plain.Service does.
type Plainer interface {
	Ask(ctx context.Context, person, system, user string, grow func(text string)) (string, llm.Usage, error)
}

// The models that clients may choose.
const (
	modelBot   = "switchboard"
	modelPlain = "switchboard-plain" // no session, no tools: the model alone
)

const (
	chatPath = "/v1/chat/completions"
	// largeBody is how many bytes of a body make it a large one, largeAtOnce how many of those are in memory at once: each takes some
	// three times its size until its pictures are kept. Another waits for largeWait.
	largeBody, largeAtOnce = 1 << 20, 4
	largeWait              = 10 * time.Second
	// chatWait is how long a body may take to come, with its pictures.
	chatWait = 2 * time.Minute
)

// A chatIn is what is read of the body of a call. What is not here is ignored.
type chatIn struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	User      string            `json:"user"`
	N         *int              `json:"n"`
	Tools     []json.RawMessage `json:"tools"`
	Functions []json.RawMessage `json:"functions"`
}

// A chatMessage is one message of a conversation; Content is a text, parts or null.
type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// A chat is a call that was read.
type chat struct {
	*chatIn
	system  string
	earlier []sessions.Line
	text    string   // of the new message
	images  [][]byte // that come with it
	key     []byte   // a hash of the token, the session's name and the body
	read    func()   // its body is needed no more
}

func (a *API) chatCalls() {
	open := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
	a.handle(Call{
		Scope: Messages, Method: http.MethodPost, Path: chatPath, ID: "createChatCompletion", Tag: "openai",
		Summary: "Chat with the bot by any client of the OpenAI API. The model " + modelBot + " is the bot, " + modelPlain + " the language model alone.",
	}, description{
		params: []*huma.Param{
			param("header", "X-Session-Id", "The session; else it is X-OpenWebUI-Chat-Id, else the body's user, else one that is found by the messages."),
			param("header", "X-Switchboard-User", "Who writes: a person's name or identity. Needed unless the token may speak for one person alone."),
			param("header", "X-Cancel-On-Disconnect", "Set: the turn is stopped when the client leaves."),
		},
		takes: schemas{"application/json": open},
		gives: schemas{"application/json": open, eventStream: textSchema}, about: "The answer, or with stream the pieces of it.",
	}, a.complete)
	made := func(id string) map[string]any {
		return map[string]any{"id": id, "object": "model", "created": a.began.Unix(), "owned_by": "switchboard"}
	}
	a.Plain(Call{Scope: Read, Method: http.MethodGet, Path: "/v1/models", ID: "listModels", Tag: "openai", Summary: "The models that chat/completions takes."},
		func(*http.Request) (any, error) {
			return map[string]any{"object": "list", "data": []any{made(modelBot), made(modelPlain)}}, nil
		})
	a.Plain(Call{Scope: Read, Method: http.MethodGet, Path: "/v1/models/{id}", ID: "getModel", Tag: "openai", Summary: "One of them."},
		func(r *http.Request) (any, error) {
			if id := r.PathValue("id"); id == modelBot || id == modelPlain {
				return made(id), nil
			}
			return nil, noModel(r.PathValue("id"))
		})
}

func noModel(name string) error {
	return api.Failed(http.StatusNotFound, "the models are "+modelBot+" and "+modelPlain, "there is no model %.100q", name)
}

// complete answers a call. With an error nothing was answered yet.
func (a *API) complete(w http.ResponseWriter, r *http.Request) error {
	caller := CallerOf(r.Context())
	person, err := a.speaker(caller, r.Header.Get("X-Switchboard-User"))
	if err != nil {
		return err
	}
	release, err := a.roomFor(r)
	if err != nil {
		return err
	}
	defer release()
	limit := a.Files.MaxSize()
	if limit <= 0 {
		limit = maxLocalBody
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(chatWait)) // not every connection has one
	body, err := bodyOf(w, r, limit/3*4+maxBody,                                // base64 writes three bytes as four
		api.Failed(http.StatusRequestEntityTooLarge, "send fewer or smaller pictures", "the body is longer than %d MB", limit>>20))
	if err != nil {
		return err
	}
	c, err := readChat(body)
	if err != nil {
		return err
	}
	if c.Model == modelPlain || c.isTask() {
		return a.chatPlain(w, r, person, c)
	}
	at, err := a.sessionOf(r, c, person)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	c.read = func() {
		c.Messages, c.earlier, c.images = nil, nil, nil
		release()
	}
	c.key = []byte(digest(caller.Token, at.key, sum[:]))
	return a.chatTurn(w, r, c, at, person)
}

// roomFor waits for a place in memory for a body, which release gives back; calling it twice is fine.
func (a *API) roomFor(r *http.Request) (release func(), err error) {
	if r.ContentLength >= 0 && r.ContentLength <= largeBody {
		return func() {}, nil
	}
	select {
	case a.large <- struct{}{}:
		return sync.OnceFunc(func() { <-a.large }), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(largeWait):
		f := api.Failed(http.StatusServiceUnavailable, "try again in a moment", "too many large calls come at once")
		f.Err.RetryAfter = largeWait
		return nil, f
	}
}

// speaker is the person for whom a caller speaks who names one, or none.
func (a *API) speaker(c *Caller, named string) (*core.Person, error) {
	if c.Local {
		named = cmp.Or(named, a.Owner)
	}
	if named = cmp.Or(named, c.only()); named == "" {
		return nil, api.Failed(http.StatusBadRequest, "name a person in the header X-Switchboard-User, or make a token that may speak for one person alone", "it is not said who writes")
	}
	p := a.who(c, named)
	if p == nil { // the same for whom there is not
		return nil, a.otherPerson(c, named)
	}
	return p, nil
}

// readChat reads the body of a call.
func readChat(body []byte) (*chat, error) {
	wrong := func(hint, format string, args ...any) (*chat, error) {
		return nil, api.Failed(http.StatusBadRequest, hint, format, args...)
	}
	var in chatIn
	if err := json.Unmarshal(body, &in); err != nil {
		return wrong("", "the body is not a chat completion's: %v", err)
	}
	switch {
	case in.Model != modelBot && in.Model != modelPlain:
		return nil, noModel(in.Model)
	case in.N != nil && *in.N != 1:
		return wrong("send the call again for another answer", "n: there is one answer to a call")
	case len(in.Tools)+len(in.Functions) > 0:
		return wrong("leave them out: the bot has tools of its own, GET /v1/tools lists them", "tools: the bot calls no tools of its clients")
	}
	c := &chat{chatIn: &in}
	last := -1
	for i, m := range in.Messages {
		if m.Role == "user" {
			last = i
		}
	}
	if last < 0 {
		return wrong("", "messages: none of them is of the role user")
	}
	for i, m := range in.Messages {
		text, images, err := m.read(i == last)
		if err != nil {
			return nil, err
		}
		switch {
		case m.Role == "system" || m.Role == "developer":
			c.system = strings.TrimSpace(c.system + "\n\n" + text)
		case m.Role != "user" && m.Role != "assistant":
			return wrong("", "messages[%d].role: %.40q is none of system, user and assistant", i, m.Role)
		case i < last:
			line := sessions.Line{Out: m.Role == "assistant", Text: text}
			if line.Out {
				line.Taint = tools.Told
			}
			c.earlier = append(c.earlier, line)
		case i == last:
			c.text, c.images = text, images
		}
	}
	switch {
	case strings.TrimSpace(c.text) == "" && len(c.images) == 0:
		return wrong("", "messages: the last one of the role user is empty")
	case len(c.text) > maxContent || len(c.system) > maxContent:
		return nil, api.Failed(http.StatusRequestEntityTooLarge, "send it in parts, or as a file", "a message is longer than %d KB", maxContent>>10)
	}
	return c, nil
}

// read is the text of a message, and the pictures in it where they are wanted.
func (m *chatMessage) read(pictures bool) (text string, images [][]byte, err error) {
	content := bytes.TrimSpace(m.Content)
	if len(content) == 0 || content[0] != '[' {
		if len(content) > 0 && json.Unmarshal(content, &text) != nil { // null leaves it empty
			err = api.Failed(http.StatusBadRequest, "", "messages: a content is neither a text nor parts")
		}
		return text, nil, err
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return "", nil, api.Failed(http.StatusBadRequest, "", "messages: the parts of a content cannot be read: %v", err)
	}
	var texts []string
	for _, p := range parts {
		switch {
		case p.Type == "text":
			texts = append(texts, p.Text)
		case p.Type != "image_url":
			return "", nil, api.Failed(http.StatusBadRequest, "send text and image_url", "messages: the bot does not take parts of the type %.40q", p.Type)
		case pictures:
			data, ok := strings.CutPrefix(p.ImageURL.URL, "data:image/")
			_, data, base64ed := strings.Cut(data, ";base64,")
			image, err := base64.StdEncoding.DecodeString(data)
			if !ok || !base64ed || err != nil {
				return "", nil, api.Failed(http.StatusBadRequest, "send the picture itself: data:image/png;base64,…", "messages: pictures are taken by data URL alone, and none is fetched from elsewhere")
			}
			images = append(images, image)
		}
	}
	return strings.Join(texts, "\n"), images, nil
}

// isTask says that the call wants a title, tags or the like of a conversation, as Open WebUI asks for them: in one message that holds
// the conversation. That is no turn.
//
// Source: DEFAULT_TITLE_GENERATION_PROMPT_TEMPLATE and its like in backend/open_webui/config.py of github.com/open-webui/open-webui.
func (c *chat) isTask() bool {
	return len(c.earlier) == 0 && !c.Stream && strings.HasPrefix(c.text, "### Task:") && strings.Contains(c.text, "<chat_history>")
}

// pictures keeps those of a call.
func (a *API) pictures(ctx context.Context, c *chat) (list []channels.Attachment, err error) {
	for i, picture := range c.images {
		_, kind, _ := strings.Cut(http.DetectContentType(picture), "/")
		f, err := a.Files.Upload(ctx, CallerOf(ctx).uploader(), fmt.Sprintf("picture-%d.%.4s", i+1, kind), bytes.NewReader(picture))
		switch {
		case errors.Is(err, files.ErrTooLarge):
			return nil, a.tooLarge()
		case errors.Is(err, tools.ErrFileRefused):
			return nil, api.Failed(http.StatusServiceUnavailable, "", "%v", err)
		case err != nil:
			return nil, err
		}
		list = append(list, attached(f))
	}
	return list, nil
}

// thoughts are what clients add to an answer that was not part of it.
var thoughts = regexp.MustCompile(`(?s)<details type="reasoning".*?</details>|<think>.*?</think>`)
