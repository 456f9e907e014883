package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// A Length is how much a model reads and writes in one call, in tokens.
type Length struct {
	Tokens int // prompt and answer together; 0: any number
	Answer int // what is left of these for the answer
}

// What a model is taken to read of which nobody says it: local is what Ollama loads a model with where
// it finds little memory.
//
// Source: https://docs.ollama.com/context-length.
const (
	localTokens = 4096
	otherTokens = 32_000
)

const (
	// lengthTimeout bounds a question for lengths: a message waits for it.
	lengthTimeout = 3 * time.Second
	// A model may be loaded with another length meanwhile; what a list says stays for longer.
	loadedFor, listedFor = time.Minute, time.Hour
)

// lengths are those of a provider's models, as its server says.
type lengths struct {
	mu     sync.Mutex // also held while the server is asked, so that it is asked once
	known  sync.Map   // tokens by a model's ID
	asked  map[string]time.Time
	client *http.Client
	cfg    Provider
}

// reads is how much a model reads as far as that is known now; 0: any number.
func (p *provider) reads(t *target) int {
	if t.model.ContextTokens > 0 {
		return t.model.ContextTokens
	}
	if p.kind == Offline || p.absent {
		return 0
	}
	if n, ok := p.lengths.known.Load(t.id); ok {
		return n.(int)
	}
	if p.local {
		return localTokens
	}
	return otherTokens
}

// ask finds out how much a model reads.
func (l *lengths) ask(ctx context.Context, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.asked[id]) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lengthTimeout)
	defer cancel()
	n, ollama, err := l.loaded(ctx, id)
	again := loadedFor
	switch {
	case ollama && n == 0: // it is loaded by the first call
		again = 0
	case !ollama:
		if n, err = l.listed(ctx, id); err == nil {
			again = listedFor
		}
	}
	if ctx.Err() != nil && n == 0 {
		again = loadedFor // or each message would wait
	}
	if n > 0 {
		l.known.Store(id, n)
	}
	l.asked[id] = time.Now().Add(again)
}

// loaded is what Ollama loaded a model with; 0: it is not loaded. What Ollama's list says of a
// model is what it was trained with, which says nothing here.
//
// Source: https://docs.ollama.com/api/ps.
func (l *lengths) loaded(ctx context.Context, id string) (tokens int, ollama bool, err error) {
	base, err := url.Parse(l.cfg.BaseURL)
	if err != nil || l.cfg.BaseURL == "" || base.Hostname() == anthropicHost || base.Hostname() == openAIHost {
		return 0, false, err
	}
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/v1")
	var list struct {
		Models []struct {
			Name   string `json:"name"`
			Length int    `json:"context_length"`
		} `json:"models"`
	}
	if err := l.get(ctx, base.JoinPath("api", "ps").String(), &list); err != nil || list.Models == nil {
		return 0, false, err
	}
	for _, m := range list.Models {
		if m.Name == id || m.Name == id+":latest" {
			return m.Length, true, nil
		}
	}
	return 0, true, nil
}

// listed is what the server's list says of a model; 0: nothing.
func (l *lengths) listed(ctx context.Context, id string) (int, error) {
	address, err := listAddress(l.cfg)
	if err != nil {
		return 0, err
	}
	var list struct {
		Data []listing `json:"data"`
	}
	if err := l.get(ctx, address, &list); err != nil {
		return 0, err
	}
	for _, m := range list.Data {
		if m.ID == id {
			return m.length(), nil
		}
	}
	return 0, nil
}

// get reads what is at an address of the provider's server into v; of an answer that is no such JSON v stays.
func (l *lengths) get(ctx context.Context, address string, v any) error {
	status, body, err := get(ctx, l.client.Do, l.cfg, address)
	if err == nil && status == http.StatusOK {
		_ = json.Unmarshal(body, v)
	}
	return err
}

// length is how much a model reads by what a list says of it; 0: it does not say.
//
// Source: https://openrouter.ai/docs/api-reference/list-available-models (top_provider, context_length),
// https://docs.vllm.ai (max_model_len), https://console.groq.com/docs/models (context_window),
// https://docs.mistral.ai/api (max_context_length), https://platform.claude.com/docs/en/api/models/list (max_input_tokens).
func (m listing) length() int {
	return int(min(cmp.Or(m.Top.Length, m.Length, m.MaxModelLen, m.Window, m.MaxLength, m.MaxInput), 100_000_000))
}

// Tokens is about how many tokens a text has, rather more than fewer, by weights that were fitted to a
// tokenizer's count of prompts, documents and code; of random letters (keys, checksums) there are twice as many.
func Tokens(text string) int {
	hundredths := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == ' ':
			hundredths += 13
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			hundredths += 24
		case c >= '0' && c <= '9':
			hundredths += 50
		case c < 0x80:
			hundredths += 70
		case c >= 0xC0: // a character begins
			hundredths += 110
		}
	}
	return (hundredths + 99) / 100
}
