package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router/sessions"
)

func (a *API) exportCall() {
	a.handle(Call{
		Scope: Read, Method: http.MethodGet, Path: "/v1/sessions/{id}/export", ID: "exportSession", Tag: "sessions",
		Summary: "All that was said in a session, as JSON or Markdown.",
	}, description{
		params: []*huma.Param{{
			Name: "format", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"json", "markdown"}},
			Description: "Without it the header Accept decides: text/markdown, else JSON.",
		}},
		gives: schemas{"application/json": nil, "text/markdown": nil}, about: "The session.",
	}, a.export)
}

// export writes a session page by page.
func (a *API) export(w http.ResponseWriter, r *http.Request) error {
	at, info, err := a.session(r.Context(), &SessionIn{ID: r.PathValue("id"), User: r.URL.Query().Get("user")})
	if err != nil {
		return err
	}
	info.Session = a.name(CallerOf(r.Context()), info.Session)
	w = &slowly{ResponseWriter: w, out: http.NewResponseController(w)}
	var out exportFormat
	format := r.URL.Query().Get("format")
	if format == "" && strings.Contains(r.Header.Get("Accept"), "text/markdown") {
		format = "markdown"
	}
	switch format {
	case "", "json":
		head, err := json.Marshal(info)
		if err != nil {
			return err
		}
		out = exportFormat{"application/json", `{"session":` + string(head) + `,"messages":[`, ",", "\n]}\n", jsonMessage}
	case "markdown":
		out = markdownExport(&info)
	default:
		return api.Failed(http.StatusBadRequest, "json or markdown", "format: there is no %.20q", format)
	}
	w.Header().Set("Content-Type", out.mediaType)
	if err := writeExport(r.Context(), w, a.Sessions, at.key, out); err != nil { // a part is sent already: the client must not take it for the whole
		a.Log.WarnContext(r.Context(), "an export ended early", "session", at.key, "error", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// An exportFormat is how a session is written.
type exportFormat struct {
	mediaType, head, between, end string
	message                       func(e *channels.SessionEvent) (string, error)
}

// writeExport writes the messages of the session of that key page by page.
func writeExport(ctx context.Context, w io.Writer, from EventReader, session string, out exportFormat) error {
	next := out.head // to be written before the next message
	pages := pager{from: from, session: session}
	for after, last := int64(0), false; !last; {
		var events []channels.SessionEvent
		var err error
		if events, _, last, err = pages.next(ctx, after); err != nil {
			return err
		}
		for i := range events {
			if after = events[i].N; events[i].Message == nil {
				continue
			}
			text, err := out.message(&events[i])
			if err == nil {
				_, err = io.WriteString(w, next+text)
			}
			if err != nil {
				return err
			}
			next = out.between
		}
	}
	if next != out.head { // some were written
		next = ""
	}
	_, err := io.WriteString(w, next+out.end)
	return err
}

func jsonMessage(e *channels.SessionEvent) (string, error) {
	view, err := e.View()
	return "\n" + string(view), err
}

func markdownMessage(e *channels.SessionEvent) (string, error) {
	text := e.Message.Text
	if e.Message.Direction == "in" { // what people write is no Markdown of ours
		text = "> " + strings.ReplaceAll(text, "\n", "\n> ")
	}
	return fmt.Sprintf("\n**%s**, %s\n\n%s\n", e.Message.Author, e.At.UTC().Format(time.RFC3339), text), nil
}

func markdownExport(info *sessions.Info) exportFormat {
	return exportFormat{"text/markdown; charset=utf-8", "# " + info.Title + "\n", "", "", markdownMessage}
}

// ExportMarkdown answers with all that was said in a session, for as long as the client reads. With an error a part may be written.
func ExportMarkdown(ctx context.Context, w http.ResponseWriter, from EventReader, info *sessions.Info) error {
	out := markdownExport(info)
	w.Header().Set("Content-Type", out.mediaType)
	return writeExport(ctx, &slowly{ResponseWriter: w, out: http.NewResponseController(w)}, from, info.Session, out)
}
