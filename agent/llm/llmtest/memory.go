package llmtest

import (
	"net/http"
	"slices"
)

// A memory is how much the models of a server read.
type memory struct {
	length int // prompt and answer together, in tokens; 0: the server does not say
	used   []string
	count  func(text string) int // nil: everything fits
}

// Reads sets how many tokens the models read, as the server says: 128,000 unless it is called. With 0 the
// server does not say. A server says it of the model "model", and of others once they were used.
func (s *Server) Reads(tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory.length = tokens
}

// Forgets makes the server do what Ollama does with models that read that many tokens: of a prompt that is
// longer it drops the beginning, the system message with it, and answers what is left as if it were all. No
// model is loaded before it is used first. count counts tokens.
//
// Source: https://github.com/ollama/ollama/issues/17889.
func (s *Server) Forgets(tokens int, count func(text string) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory = memory{length: tokens, count: count}
}

// loaded is how Ollama says what it has loaded.
//
// Source: https://docs.ollama.com/api/ps.
func (m *memory) loaded() Reply {
	if m.length == 0 {
		return Fail(http.StatusNotFound, "invalid_request_error", "", "Invalid URL (GET /api/ps)")
	}
	list := []map[string]any{}
	for _, id := range m.used {
		list = append(list, map[string]any{"name": id, "model": id, "context_length": m.length})
	}
	return Reply{Body: mustJSON(map[string]any{"models": list})}
}

// take loads the model of a request, and makes it read what it can. A half of its length is left.
func (m *memory) take(req *Request) {
	if req.Model != "" && !slices.Contains(m.used, req.Model) {
		m.used = append(m.used, req.Model)
	}
	if m.count == nil {
		return
	}
	if req.Read = m.count(req.System) + m.count(req.User); req.Read <= m.length {
		return
	}
	req.System = ""
	for req.Read = m.length/2 + 2; m.count(req.User) > req.Read; {
		req.User = req.User[max(1, (len(req.User)-2*req.Read)/8):]
	}
}
