package llm

import (
	"encoding/json"
	"time"
)

// A Request is one question to a model.
type Request struct {
	Role   string // who asks: planner, reviewer, worker, …; for errors and usage
	System string // stable part, first, so that providers can cache it
	User   string // volatile part
	// Schema asks for strict structured output; nil asks for free text.
	Schema *Schema
	// Embed asks for a vector of each of these texts, in place of an answer: System, User, Schema and Stream
	// are not read. None of them is empty. Nil: an answer is asked for.
	Embed []string
	// Timeout bounds the call, retries and all; 0 means two minutes. A timeout in
	// the provider's settings stands in its place.
	Timeout time.Duration
	// Stall is how long nothing new of the answer may come; 0: only Timeout bounds it.
	// An answer that comes as one has to come within it.
	Stall time.Duration
	// Stream is called with the whole of the answer so far each time there is more of
	// it, in the goroutine of Complete. It is the Response's Text, or a beginning of it,
	// unless the answer turns out to be none; one that is begun again, or of which a part
	// was a thought after all, is shorter than before. It reports whether anybody was
	// shown something of it: then a call that breaks off is not made again. A server that
	// cannot stream is asked for its answer as one; then nothing is called. Nil: the same.
	Stream func(text string) bool
	// Reserve is called before each try whose cost is not reserved yet, and before each of
	// a model without prices: its error ends the call, and nothing was asked. What the call
	// used in the end is in the Response's Usage; what a provider claims beyond all that it can have used is cut
	// to the reservation. Nil: nobody counts money.
	Reserve func(Quote) error
}

// A Schema is a JSON schema in the strict dialect: every property required,
// additionalProperties false everywhere, optional meaning nullable.
type Schema struct {
	Name string // "plan", "review"
	JSON json.RawMessage
}

// A Response is a model's answer. Text is the answer alone: reasoning fields and
// <think> blocks are taken out.
type Response struct {
	Text     string
	Repaired bool        // the text is JSON that stood in prose, or was put right
	Finish   string      // stop | length | …, the provider's word
	Vectors  [][]float32 // of Embed, in its order, all as long, each of length 1
	Usage    Usage       // of all tries, as far as the provider told
	Exchange Exchange    // of the last try
}

// Usage counts tokens and money. Cost is in the currency of [budget], from the
// prices of the settings; 0 where they are not given.
type Usage struct {
	In, Out int64
	Cached  int64 // of In, what the provider's cache served
	Cost    float64
	// Estimated: of a part the provider did not tell what was used, and it may have been
	// used. Cost holds the most that it can have cost.
	Estimated bool
	// Claimed is how many tokens the provider says that a try's prompt or answer had, where that is
	// more than it can have been; then that most is what In, Out and Cost hold. 0: it says no such thing.
	Claimed int64
}

func (u *Usage) add(v Usage) {
	u.In, u.Out, u.Cached, u.Cost = u.In+v.In, u.Out+v.Out, u.Cached+v.Cached, money((u.Cost+v.Cost)*1e6)
	u.Estimated, u.Claimed = u.Estimated || v.Estimated, max(u.Claimed, v.Claimed)
}

// An Exchange is what went over the wire, for `turn show --prompts`. It is
// returned with errors as well, as far as there was one.
type Exchange struct {
	Provider string // name in the settings
	Model    string // the provider's own model ID
	Request  []byte // the exact body sent, without headers
	Response []byte // the exact body received last, cut at 8 MB; a key in it is struck out
	Duration time.Duration
}
