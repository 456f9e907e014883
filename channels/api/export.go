package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"switchboard/channels"
	"switchboard/internal/api"
)

func (a *API) exportCall() {
	a.handle(Call{
		Scope: Read, Method: http.MethodGet, Path: "/v1/sessions/{id}/export", ID: "exportSession", Tag: "sessions",
		Summary: "All that was said in a session, as JSON or Markdown.",
	}, description{
		params: []*huma.Param{{Name: "format", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"json", "markdown"}}}},
		gives:  schemas{"application/json": nil, "text/markdown": nil}, about: "The session.",
	}, a.export)
}

// export writes a session page by page.
func (a *API) export(w http.ResponseWriter, r *http.Request) error {
	at, info, err := a.session(r.Context(), &SessionIn{ID: r.PathValue("id"), User: r.URL.Query().Get("user")})
	if err != nil {
		return err
	}
	info.Session = a.name(CallerOf(r.Context()), info.Session)
	w = &slowly{w, http.NewResponseController(w)}
	var out exporter
	switch format := r.URL.Query().Get("format"); format {
	case "", "json":
		w.Header().Set("Content-Type", "application/json")
		out = &jsonExport{w: w}
	case "markdown":
		w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
		out = &markdownExport{w}
	default:
		return api.Failed(http.StatusBadRequest, "json or markdown", "format: there is no %.20q", format)
	}
	head, err := json.Marshal(info)
	if err == nil {
		err = out.begin(head, info.Title)
	}
	for after := int64(0); err == nil; {
		var events []channels.SessionEvent
		if events, err = a.Sessions.Events(r.Context(), at.key, after, messagesMost); len(events) == 0 {
			break
		}
		for i := range events {
			if after = events[i].N; events[i].Message != nil && err == nil {
				err = out.message(&events[i])
			}
		}
	}
	if err == nil {
		err = out.end()
	}
	if err != nil { // a part is sent already: the client must not take it for the whole
		a.Log.WarnContext(r.Context(), "an export ended early", "session", at.key, "error", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// An exporter writes a session.
type exporter interface {
	begin(info []byte, title string) error
	message(e *channels.SessionEvent) error
	end() error
}

type jsonExport struct {
	w    io.Writer
	some bool
}

func (x *jsonExport) begin(info []byte, _ string) error {
	_, err := fmt.Fprintf(x.w, `{"session":%s,"messages":[`, info)
	return err
}

func (x *jsonExport) message(e *channels.SessionEvent) error {
	view, err := e.View()
	if err != nil {
		return err
	}
	comma := ","
	if !x.some {
		comma, x.some = "", true
	}
	_, err = fmt.Fprintf(x.w, "%s\n%s", comma, view)
	return err
}

func (x *jsonExport) end() error {
	_, err := io.WriteString(x.w, "\n]}\n")
	return err
}

type markdownExport struct{ w io.Writer }

func (x *markdownExport) begin(_ []byte, title string) error {
	_, err := fmt.Fprintf(x.w, "# %s\n", title)
	return err
}

func (x *markdownExport) message(e *channels.SessionEvent) error {
	text := e.Message.Text
	if e.Message.Direction == "in" { // what people write is no Markdown of ours
		text = "> " + strings.ReplaceAll(text, "\n", "\n> ")
	}
	_, err := fmt.Fprintf(x.w, "\n**%s**, %s\n\n%s\n", e.Message.Author, e.At.UTC().Format(time.RFC3339), text)
	return err
}

func (x *markdownExport) end() error { return nil }
