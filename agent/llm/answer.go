package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A completion is what we read of an answer. Servers differ in more than they
// agree on, so it is read as tolerantly as can be.
type completion struct {
	Error   json.RawMessage `json:"error"` // some servers say 200 and then this
	Choices []struct {
		FinishReason string  `json:"finish_reason"`
		Message      message `json:"message"`
		Delta        message `json:"delta"` // of a stream: what is new
	} `json:"choices"`
	Usage *struct {
		In      tokens `json:"prompt_tokens"`
		Out     tokens `json:"completion_tokens"`
		Details struct {
			Cached tokens `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

// fault is the error that an answer is in place of one; nil: none.
func (c completion) fault() json.RawMessage {
	if bytes.Equal(c.Error, []byte("null")) {
		return nil
	}
	return c.Error
}

// usage is what the provider tells; nil: it does not. No prompt has no tokens.
func (c completion) usage() *Usage {
	if c.Usage == nil || c.Usage.In <= 0 {
		return nil
	}
	u := Usage{In: int64(c.Usage.In), Out: int64(c.Usage.Out)}
	u.Cached = min(int64(c.Usage.Details.Cached), u.In)
	return &u
}

// tokens are a number of them, however a server writes it; 0: it is not told.
type tokens int64

// UnmarshalJSON has no error: an answer is not lost for its bill.
func (n *tokens) UnmarshalJSON(text []byte) error {
	told := string(bytes.Trim(text, `"`))
	if whole, err := strconv.ParseInt(told, 10, 64); err == nil {
		*n = tokens(max(whole, 0))
	} else if f, err := strconv.ParseFloat(told, 64); err == nil && f > 0 {
		*n = tokens(min(f, 1<<62))
	} else {
		*n = 0
	}
	return nil
}

type message struct {
	Content          json.RawMessage `json:"content"` // text, null, or parts
	Refusal          string          `json:"refusal"`
	Reasoning        json.RawMessage `json:"reasoning"` // OpenRouter, newer vLLM
	ReasoningContent json.RawMessage `json:"reasoning_content"`
}

// An answer is what a model said, however it came.
type answer struct {
	text            string // as sent: there may be thoughts in it
	refusal, finish string
	usage           *Usage          // nil: not told
	fault           json.RawMessage // an error in place of an answer; nil: none
	nothing         bool            // there is no choice at all
}

// finishLength is the word of every server for an answer that reached its limit.
const finishLength = "length"

// read fills resp from a 2xx answer to a question that costs at most that much.
func (p *provider) read(resp *Response, w *wire, t target, req Request, m mode, most float64) error {
	s, err := w.answer()
	resp.Usage = s.bill(t, len(resp.Exchange.Request), most)
	if err != nil {
		return answerError("its answer is not JSON: " + p.mask.Text(err.Error()))
	}
	if len(s.fault) > 0 {
		return p.said(s.fault, w, t, req, m)
	}
	if s.nothing {
		return answerError("its answer is empty (no choices)")
	}
	text := withoutThoughts(s.text, req.Schema != nil)
	if req.Schema != nil {
		raw := text
		text = cmp.Or(repaired(raw), raw)
		resp.Repaired = text != raw
	}
	resp.Text, resp.Finish = text, s.finish
	switch {
	case s.finish == finishLength:
		return answerError(fmt.Sprintf("its answer was cut off at %d tokens; raise max_output_tokens of the model", t.model.MaxOutputTokens))
	case text == "" && s.refusal != "":
		return fmt.Errorf("%w by the model: %s", ErrRefused, p.mask.Text(s.refusal))
	case text == "":
		return answerError(fmt.Sprintf("its answer is empty (%s)", s.finish))
	case req.Schema != nil && !json.Valid([]byte(text)):
		return answerError("its answer is not the JSON that was asked for")
	}
	return nil
}

// said names what a fault means that comes in place of an answer.
func (p *provider) said(fault json.RawMessage, w *wire, t target, req Request, m mode) error {
	var e apiError
	_ = json.Unmarshal(fault, &e)
	return p.fault(e.status(), w.header, p.mask.Bytes(w.complaint(fault)), t, req, m)
}

// bill is what an answer to a question with a body of that size used: as told, or at most.
func (s answer) bill(t target, body int, most float64) Usage {
	if s.usage != nil {
		u := s.usage.within(body, t.model.MaxOutputTokens)
		u.Cost = t.model.cost(u)
		return u
	}
	var e apiError
	if len(s.fault) > 0 && s.nothing && json.Unmarshal(s.fault, &e) == nil && unused(e.status()) {
		return Usage{}
	}
	return atMost(most)
}

// answer reads an answer whose body is there to its end.
func (w *wire) answer() (answer, error) {
	if w.events != nil {
		return w.events.whole(), nil
	}
	var c completion
	if err := json.Unmarshal(w.body, &c); err != nil {
		return answer{}, err
	}
	s := answer{usage: c.usage(), fault: c.fault(), nothing: len(c.Choices) == 0}
	if !s.nothing {
		choice := c.Choices[0]
		s.text, _ = choice.Message.split()
		s.refusal, s.finish = choice.Message.Refusal, choice.FinishReason
	}
	return s, nil
}

// split takes the answer out of a message's fields, and says how many bytes of thoughts are in the others.
func (m message) split() (text string, thoughts int) {
	if json.Unmarshal(m.Content, &text) != nil {
		var parts []struct {
			Type     string          `json:"type"`
			Text     string          `json:"text"`
			Thinking json.RawMessage `json:"thinking"`
		}
		_ = json.Unmarshal(m.Content, &parts)
		for _, part := range parts {
			if part.Type == "text" {
				text += part.Text
			} else {
				thoughts += len(words(part.Thinking))
			}
		}
	}
	return text, thoughts + len(cmp.Or(words(m.Reasoning), words(m.ReasoningContent))) // servers that send both repeat themselves
}

// words is a JSON text as it reads; another JSON value is kept as written.
func words(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// withoutThoughts takes <think> blocks out of an answer. A closing tag alone
// ends a block whose beginning was in the server's own template, an opening tag
// alone at the start was never closed. Of a structured answer only what precedes
// the JSON is taken: inside, the words may be somebody's text.
func withoutThoughts(text string, structured bool) string {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, thinkOpen) && !strings.Contains(text, thinkClose) || structured && beginsJSON(text) {
		return text
	}
	var kept strings.Builder
	for {
		open, end := strings.Index(text, thinkOpen), strings.Index(text, thinkClose)
		begun := end >= 0 && (open < 0 || end < open) // before the answer
		switch {
		case begun && kept.Len() == 0:
		case begun:
			kept.WriteString(text[:end])
		case end >= 0:
			kept.WriteString(text[:open])
		case open == 0 && strings.TrimSpace(kept.String()) == "":
			return ""
		default:
			kept.WriteString(text)
			return strings.TrimSpace(kept.String())
		}
		text = text[end+len(thinkClose):]
		if structured && beginsJSON(strings.TrimSpace(text)) {
			return strings.TrimSpace(text)
		}
	}
}

// beginsJSON says that text begins with JSON, in a code fence or not.
func beginsJSON(text string) bool {
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") || strings.HasPrefix(text, "```")
}
