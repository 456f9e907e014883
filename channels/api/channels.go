package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/router/outbox"
)

// A Poster renders what a program has the bot say.
type Poster interface {
	// Post finds a conversation of a channel by its ID or the name of a person. core.ErrNotFound; router.ErrGroupsAreAdmins,
	// unless admin; router.ErrNoFiles; router.ErrFileTooLarge. With files the text may be empty.
	Post(ctx context.Context, channel, to, text string, files []outbox.Upload, admin bool) (*outbox.Post, error)
}

// maxFiles is how many files one message may carry.
const maxFiles = 10

// ChannelList are channels.
type ChannelList struct {
	Channels []channels.Status `json:"channels"`
}

type sendBody struct {
	Conversation string   `json:"conversation,omitempty" doc:"Its ID on the channel."`
	Person       string   `json:"person,omitempty" doc:"Somebody's name: the direct chat there that they used last."`
	Text         string   `json:"text,omitempty" doc:"Markdown, at most 64 KB; it may be empty beside attachments."`
	Attachments  []string `json:"attachments,omitempty" maxItems:"10" doc:"IDs of uploads of yours: POST /v1/uploads gives them."`
}

type sendOut struct {
	DeliveryID   int64  `json:"delivery_id,string,omitempty" doc:"Of its first part; none: its readers fetch it."`
	MessageID    int64  `json:"message_id,string"`
	Conversation string `json:"conversation"`
}

func (a *API) channelCalls() {
	register(a, Call{Scope: Admin, Method: http.MethodGet, Path: "/v1/channels", ID: "listChannels", Tag: "channels", Summary: "Each channel's state, since when and why."},
		func(context.Context, *struct{}) (*ChannelList, error) { return &ChannelList{some(a.Statuses())}, nil })
	a.handle(Call{
		Scope: Send, Method: http.MethodPost, Path: "/v1/channels/{name}/send", ID: "send", Tag: "channels", Status: http.StatusAccepted,
		Summary: "Have the bot say something in a conversation of a channel, or to a person there. The answer comes when the message is stored.",
	}, description{
		params: []*huma.Param{
			param("path", "name", "The channel's name."),
			param("query", "to", "A conversation's ID on the channel, or a person's name, where the body does not say it."),
		},
		takes: schemas{"text/plain": textSchema, "application/json": schemaOf[sendBody](a, "")},
		gives: schemas{"application/json": schemaOf[sendOut](a, "")}, about: "It is stored, and on its way.",
	}, func(w http.ResponseWriter, r *http.Request) error {
		out, err := a.say(r)
		if err == nil {
			api.Reply(w, http.StatusAccepted, out)
		}
		return err
	})
}

// say has the bot say what a call says.
func (a *API) say(r *http.Request) (*sendOut, error) {
	c, channel, to := CallerOf(r.Context()), r.PathValue("name"), r.URL.Query().Get("to")
	in, err := sent(r, &to)
	if err != nil {
		return nil, err
	}
	carried, err := a.carried(r.Context(), c, in.Attachments)
	if err != nil {
		return nil, err
	}
	post, err := a.Poster.Post(r.Context(), channel, to, in.Text, carried, a.forAdmin(c))
	switch {
	case errors.Is(err, core.ErrNotFound):
		return nil, a.nobody(channel, to)
	case errors.Is(err, router.ErrGroupsAreAdmins):
		return nil, api.Failed(http.StatusForbidden, "use a token that speaks for an admin: --person NAME", "%v", err)
	case errors.Is(err, router.ErrNoFiles):
		return nil, api.Failed(http.StatusBadRequest, "send the text without attachments, or a link to the file", "attachments: the channel %.100q sends no files", channel)
	case errors.Is(err, router.ErrFileTooLarge):
		return nil, api.Failed(http.StatusRequestEntityTooLarge, "send a link to it", "attachments: %v", err)
	case err != nil:
		return nil, err
	case !c.Local && len(c.People) > 0 && !a.forAdmin(c) && !slices.Contains(c.People, post.Person):
		return nil, api.Failed(http.StatusForbidden, "it may write to: "+strings.Join(c.People, ", "), "the token %q may not write to %.100q", c.Token, to)
	}
	person := ""
	if len(c.People) == 1 {
		person = c.People[0]
	}
	if err := a.Changer.Change(r.Context(), post, a.actor(c, person)); err != nil {
		return nil, err
	}
	return &sendOut{post.Delivery, post.Message, string(post.Conversation.ID)}, nil
}

// carried are the uploads that a call names, each with bytes that may go out.
func (a *API) carried(ctx context.Context, c *Caller, ids []string) (list []outbox.Upload, err error) {
	uploads, err := a.uploads(ctx, c, ids)
	if err != nil {
		return nil, err
	}
	for _, f := range uploads {
		switch bytes, err := a.Files.Read(ctx, f); {
		case errors.Is(err, tools.ErrFileGone):
			return nil, api.Failed(http.StatusNotFound, "upload it again", "attachments: the file %d is not kept any more", f.ID)
		case err != nil:
			return nil, err
		default:
			_ = bytes.Close() // it was only read
		}
		switch {
		case f.State == files.AttachmentQuarantined:
			return nil, api.Failed(http.StatusForbidden, "no chat gets such a file", "attachments: the file %d is held back: %s", f.ID, f.Reason)
		case f.Size == 0:
			return nil, api.Failed(http.StatusBadRequest, "leave it out", "attachments: the file %d is empty", f.ID)
		}
		list = append(list, outbox.Upload{ID: f.ID, File: channels.File{Blob: f.Blob, Name: f.Name, Type: f.Type, Size: f.Size}})
	}
	return list, nil
}

// nobody says that there is nobody of that name on a channel, or no such channel.
func (a *API) nobody(channel, to string) error {
	var names []string
	for _, s := range a.Statuses() {
		if s.Name == channel {
			return api.Failed(http.StatusNotFound, "the bot can write to whoever has written to it there; name the person, or the ID of the chat", "nobody called %.100q has written to the bot on %.100q", to, channel)
		}
		names = append(names, s.Name)
	}
	return api.Failed(http.StatusNotFound, "there are: "+strings.Join(names, ", "), "there is no channel %.100q", channel)
}

// sent is what a call says, and to whom it goes. What is neither called JSON nor looks like it is plain text: curl -d says that it is a form.
func sent(r *http.Request, to *string) (in sendBody, err error) {
	body, err := bodyOf(nil, r, maxBody, tooLong())
	if err != nil {
		return in, err
	}
	in.Text = string(body)
	kind := r.Header.Get("Content-Type")
	if strings.HasPrefix(kind, "application/json") || !strings.HasPrefix(kind, "text/") && strings.HasPrefix(string(body), "{") && json.Valid(body) {
		in = sendBody{}
		if err := json.Unmarshal(body, &in); err != nil {
			return in, api.Failed(http.StatusBadRequest, "", "the body is not the JSON that this call takes")
		}
		*to = cmp.Or(in.Conversation, in.Person, *to)
	}
	switch {
	case *to == "":
		return in, api.Failed(http.StatusBadRequest, "add ?to=PERSON, or \"person\" or \"conversation\" to the JSON", "to: nobody is named")
	case len(in.Text) > maxContent:
		return in, tooLong()
	case len(in.Attachments) > maxFiles:
		return in, api.Failed(http.StatusBadRequest, "send the others with another call", "attachments: more than %d", maxFiles)
	case strings.TrimSpace(in.Text) == "" && len(in.Attachments) == 0:
		return in, api.Failed(http.StatusBadRequest, "", "text: the message is empty")
	case !utf8.ValidString(in.Text) || strings.ContainsRune(in.Text, 0):
		return in, api.Failed(http.StatusBadRequest, "", "text: it is not valid UTF-8")
	}
	if strings.TrimSpace(in.Text) == "" {
		in.Text = ""
	}
	return in, nil
}

func tooLong() error {
	return api.Failed(http.StatusRequestEntityTooLarge, "send it in parts, or as a file", "the message is longer than %d KB", maxContent>>10)
}
