package llm

import (
	"errors"
	"fmt"
	"log/slog"
)

// A mode is the form in which a model takes its questions, as far as its server has
// shown by refusing others. It is forgotten when the program ends.
type mode struct {
	asOne  bool // no streams
	format format
}

// A format is how a model is told to answer with JSON of a schema.
type format int

const (
	strictSchema format = iota // response_format json_schema
	jsonObject                 // response_format json_object, the schema in the prompt
	promptOnly                 // the schema in the prompt
)

// errNoStructure: the server refuses the format of this very question.
var errNoStructure = errors.New("no structured output")

func (p *provider) mode(model string) mode {
	p.learning.Lock()
	defer p.learning.Unlock()
	if m, known := p.modes[model]; known {
		return m
	}
	return p.first
}

// learn remembers what the outcome of a call in mode m says about the model; it
// reports whether that was something new for the call.
func (p *provider) learn(t target, m mode, w *wire, err error) bool {
	switch {
	case err != nil && w.follower != nil && refusesStreams(w.status, complaint(w.body)):
		m.asOne = true
	case errors.Is(err, errNoStructure):
		m.format++
	case err == nil && w.events != nil && w.events.answer.usage == nil && t.model.most(1) > 0:
		m.asOne = true // what it costs could not be told
	default:
		return false
	}
	p.learning.Lock()
	defer p.learning.Unlock()
	known := p.modes[t.id]
	m.asOne, m.format = m.asOne || known.asOne, max(m.format, known.format)
	if m != known {
		p.log.Info("the model is asked in another form from now on", slog.String("provider", p.name), slog.String("model", t.id),
			slog.Bool("stream", !m.asOne), slog.String("format", m.format.String()))
	}
	p.modes[t.id] = m
	return true
}

func (f format) String() string {
	return [...]string{"json_schema", "json_object", "instructions"}[f]
}

// instructions stand behind the system prompt where the server does not see to it
// that the answer fits the schema.
func (s *Schema) instructions() string {
	return fmt.Sprintf("\n\n# The form of your answer\n\nAnswer with one JSON object and nothing else. It has to fit the JSON schema `%s`:\n\n%s\n", s.Name, s.JSON)
}
