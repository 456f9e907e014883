package llmtest

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"math"
	"strings"
	"unicode"
)

// Dimension is how long the vectors are that a Server makes, unless Embeds says otherwise.
const Dimension = 256

// embeds is how a server makes vectors.
type embeds struct {
	dimension int                         // 0: Dimension
	instead   func(Request) (Reply, bool) // nil: nothing is answered in place of vectors
}

// Embeds sets how long the vectors are that the server makes, and what it answers in place of them, if instead says so; nil: nothing.
func (s *Server) Embeds(dimension int, instead func(Request) (Reply, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.embeds = embeds{dimension, instead}
}

// texts reads a request for vectors, as strictly as the real provider.
//
// Source: https://platform.openai.com/docs/api-reference/embeddings/create.
func (r *Request) texts(body []byte) error {
	r.Role = "embeddings"
	var wire struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&wire); err != nil {
		return says("We could not parse the JSON body of your request: %v", err)
	}
	r.Model, r.Input = wire.Model, wire.Input
	if wire.Model == "" {
		return says("you must provide a model parameter")
	}
	if len(wire.Input) == 0 || len(wire.Input) > 2048 {
		return says("'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.")
	}
	for _, text := range wire.Input {
		if text == "" {
			return says("input cannot be an empty string")
		}
	}
	return nil
}

func (e embeds) reply(r Request) Reply {
	if e.instead != nil {
		if reply, is := e.instead(r); is {
			return reply
		}
	}
	type item struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	data, tokens := []item{}, 0
	for i, text := range r.Input {
		size := e.dimension
		if size == 0 {
			size = Dimension
		}
		data = append(data, item{"embedding", i, Vector(r.Model, text, size)})
		tokens += 1 + len(text)/4
	}
	return Reply{Body: mustJSON(map[string]any{
		"object": "list", "data": data, "model": r.Model, "usage": map[string]any{"prompt_tokens": tokens, "total_tokens": tokens},
	})}
}

// same are words that mean the same; of the others each means itself.
var same = [][]string{
	strings.Fields("car automobile vehicle auto wagen"),
	strings.Fields("doctor physician arzt"),
	strings.Fields("home house residence lives"),
	strings.Fields("child kid daughter son"),
	strings.Fields("allergic intolerant reacts"),
	strings.Fields("peanut peanuts groundnut groundnuts"),
	strings.Fields("work job profession occupation"),
	strings.Fields("vacation holiday holidays trip"),
}

// idle are words that mean nothing.
var idle = strings.Fields("a an the is are was of to in on at my your i me you do does did what when where which who how and or with for by it that this has have")

// Vector is what the server makes of a text: the same words make the same vector, in whatever order, and words that mean the same are the
// same. Vectors of different models have nothing to do with each other.
func Vector(model, text string, dimension int) []float32 {
	v := make([]float32, dimension)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	sum := 0.0
	for _, word := range append(words, "") { // so that no vector is empty
		means := word
		for _, list := range same {
			for _, w := range list {
				if w == word {
					means = list[0]
				}
			}
		}
		weight := 1.0
		for _, w := range idle {
			if w == word {
				weight = 0
			}
		}
		if word == "" {
			weight = 0.1
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(model + "\x00" + means))
		for i := range 4 { // a word is four places, so that two share all of them hardly ever
			x := h.Sum64()
			sign := 1 - 2*float64(x>>63)
			v[x%uint64(dimension)] += float32(sign * weight)
			_, _ = h.Write([]byte{byte(i)})
		}
	}
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}
