package api

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"switchboard/internal/api"
)

// usage counts tokens.
type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

func used(in, out int64) *usage { return &usage{in, out, in + out} }

// A reply is the answer to a call in the making: sent in pieces, or as one at its end.
type reply struct {
	*Stream  // nil: it has not begun, or is sent as one
	w        http.ResponseWriter
	pieces   bool
	model    string
	id       string
	usage    bool            // it ends with what was used
	content  strings.Builder // of what is sent as one
	thoughts strings.Builder
	open     string // what was sent of the message that is being written
	some     bool   // a message was begun
	left     bool   // the client takes no more
}

func newReply(w http.ResponseWriter, c *chat) *reply {
	return &reply{w: w, pieces: c.Stream, model: c.Model, id: "chatcmpl-" + strings.ToLower(rand.Text()), usage: c.StreamOptions.IncludeUsage}
}

// start sends the headers.
func (r *reply) start() error {
	if !r.pieces || r.Stream != nil {
		return nil
	}
	r.Stream = NewStream(r.w)
	return r.chunk(map[string]any{"role": "assistant", "content": ""}, nil)
}

// chunk sends one piece.
func (r *reply) chunk(delta map[string]any, finish any) error {
	if err := r.start(); err != nil || !r.pieces {
		return err
	}
	return r.send(r.frame("chat.completion.chunk", []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}))
}

// frame is what every piece has, and the answer as one.
func (r *reply) frame(object string, choices []any) map[string]any {
	f := map[string]any{"id": r.id, "object": object, "created": time.Now().Unix(), "model": r.model, "choices": choices}
	if r.pieces && r.usage {
		f["usage"] = nil
	}
	return f
}

// send writes an event of a stream.
func (r *reply) send(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return r.data(string(text))
}

func (r *reply) data(text string) error {
	err := r.Text("data: " + text + "\n\n")
	r.left = r.left || err != nil
	return err
}

// Ping implements Outlet.
func (r *reply) Ping() error {
	if r.Stream == nil {
		return nil
	}
	return r.Stream.Ping()
}

// Write implements Outlet: each piece is sent at once.
func (r *reply) Write(puts func() error) error { return puts() }

// grow sends what is new of a message that is being written. Nothing can be taken back: of one that begins again the end is waited for.
func (r *reply) grow(text string) error {
	more, ok := strings.CutPrefix(strings.TrimSpace(text), r.open) // the whole has no space around it either
	if !ok || more == "" {
		return nil
	}
	return r.say(more)
}

// say sends a piece of a message.
func (r *reply) say(text string) error {
	if r.open == "" && r.some {
		text = "\n\n" + text
		r.open = strings.TrimPrefix(text, "\n\n")
	} else {
		r.open += text
	}
	r.some = true
	r.content.WriteString(text)
	return r.chunk(map[string]any{"content": text}, nil)
}

// end sends the rest of a message that is whole.
func (r *reply) end(text string) error {
	text = strings.TrimSpace(text)
	more, ok := strings.CutPrefix(text, r.open)
	if !ok {
		r.open, more = "", text
	}
	var err error
	if more != "" {
		err = r.say(more)
	}
	r.open = ""
	return err
}

// think sends a line of what is being done.
func (r *reply) think(line string) error {
	r.thoughts.WriteString(line + "\n")
	return r.chunk(map[string]any{"reasoning_content": line + "\n"}, nil)
}

// close ends the answer.
func (r *reply) close(u *usage) error {
	if !r.pieces {
		message := map[string]any{"role": "assistant", "content": r.content.String()}
		if r.thoughts.Len() > 0 {
			message["reasoning_content"] = r.thoughts.String()
		}
		whole := r.frame("chat.completion", []any{map[string]any{"index": 0, "message": message, "finish_reason": "stop"}})
		whole["usage"] = u
		text, err := json.Marshal(whole)
		if err == nil {
			r.w.Header().Set("Content-Type", "application/json")
			_, err = r.w.Write(text)
		}
		return errors.Join(err, http.NewResponseController(r.w).Flush())
	}
	if err := r.chunk(map[string]any{}, "stop"); err != nil {
		return err
	}
	if r.usage {
		last := r.frame("chat.completion.chunk", []any{})
		last["usage"] = u
		if err := r.send(last); err != nil {
			return err
		}
	}
	return r.data("[DONE]")
}

// fail says what went wrong, if the stream has begun; else it returns it.
func (r *reply) fail(err error) error {
	if r.Stream == nil || err == nil {
		return err
	}
	if f, ok := errors.AsType[*api.Failure](err); ok {
		_ = r.send(f) // the client may have left
	}
	return nil
}
