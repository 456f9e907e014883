package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"switchboard/agent/llm"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/plain"
)

// chatPlain answers a call with what the model alone says.
func (a *API) chatPlain(w http.ResponseWriter, r *http.Request, person *core.Person, c *chat) error {
	if len(c.images) > 0 {
		return api.Failed(http.StatusBadRequest, "use the model "+modelBot, "messages: "+modelPlain+" takes no pictures")
	}
	ctx, answer := r.Context(), newReply(w, c)
	type result struct {
		text string
		used llm.Usage
		err  error
	}
	grown, done := make(chan string, 1), make(chan result, 1)
	var grow func(string)
	if c.Stream {
		grow = func(text string) {
			select { // the newest is enough
			case <-grown:
			default:
			}
			grown <- text
		}
	}
	go func() {
		text, used, err := a.Model.Ask(ctx, person.Name, c.system, c.transcript(), grow)
		done <- result{text, used, err}
	}()
	begin, ping := time.After(headersBy), time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case <-begin:
			_ = answer.start()
		case <-ping.C:
			_ = answer.Ping()
		case text := <-grown:
			_ = answer.grow(text)
		case got := <-done:
			if got.err != nil {
				return answer.fail(a.unanswered(ctx, got.err))
			}
			if err := answer.end(got.text); err == nil {
				_ = answer.close(used(got.used.In, got.used.Out)) // the client may have left
			}
			return nil
		}
	}
}

// transcript is the whole conversation as one text.
func (c *chat) transcript() string {
	if len(c.earlier) == 0 {
		return c.text
	}
	var out strings.Builder
	for _, line := range c.earlier {
		who := "user"
		if line.Out {
			who = "assistant"
		}
		out.WriteString(who + ": " + line.Text + "\n\n")
	}
	return out.String() + "user: " + c.text + "\n\nassistant: "
}

// unanswered says of a call that no model answered it.
func (a *API) unanswered(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, plain.ErrOverLimit):
		return api.Failed(http.StatusTooManyRequests, "", "%v", plain.ErrOverLimit)
	case errors.Is(err, core.ErrNotNow):
		return a.failure(ctx, err)
	}
	a.Log.WarnContext(ctx, "the model alone did not answer", "request_id", requestID(ctx), "token", CallerOf(ctx).Token, "error", err)
	return api.Failed(http.StatusBadGateway, `"switchboard provider test" says more on the machine of the bot`, "the language model did not answer")
}
