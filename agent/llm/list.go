package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// anthropicHost is a compatible server with two habits of its own: it ignores the form of
// an answer that is asked for, and lists its models as its own API does.
//
// Source: https://platform.claude.com/docs/en/cli-sdks-libraries/libraries/openai-sdk,
// https://platform.claude.com/docs/en/api/models/list.
const (
	anthropicHost    = "api.anthropic.com"
	anthropicVersion = "2023-06-01"
)

// listTimeout bounds the question for a list.
const listTimeout = 20 * time.Second

// List asks a server of kind openai which models it has, and returns their IDs, the newest
// first where it says how old they are. A server that has no list is no fault: nil. Some
// list their models whatever the key is. Errors are ErrUnauthorized and ErrUnavailable.
//
// Source: https://platform.openai.com/docs/api-reference/models/list.
func List(ctx context.Context, p Provider) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	address, err := listAddress(p)
	if err != nil {
		return nil, fmt.Errorf("list models: %w", err)
	}
	pool := newPool()
	defer pool.CloseIdleConnections()
	status, body, err := get(ctx, pool.RoundTrip, p, address)
	said := func() string { return complaint(maskOf(p).Bytes(body)) }
	switch {
	case status == 0:
		return nil, fmt.Errorf("list models: %w: %w", ErrUnavailable, err)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return nil, nil
	case status == http.StatusUnauthorized || status == http.StatusForbidden,
		status == http.StatusBadRequest && strings.Contains(strings.ToLower(said()), "api key"):
		return nil, fmt.Errorf("list models: %w (%d: %s)", ErrUnauthorized, status, said())
	case status != http.StatusOK:
		return nil, fmt.Errorf("list models: %w (%d: %s)", ErrUnavailable, status, said())
	case err != nil:
		return nil, fmt.Errorf("list models: %w: %w", ErrUnavailable, err)
	}
	return listed(body)
}

func listAddress(p Provider) (string, error) {
	base, err := url.Parse(cmp.Or(p.BaseURL, openAIBase))
	if err != nil {
		return "", err
	}
	return base.JoinPath("models").String(), nil
}

// get reads what is at an address of the provider's server; a status of 0: nothing.
func get(ctx context.Context, send func(*http.Request) (*http.Response, error), p Provider, address string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, err
	}
	authorize(req, p)
	res, err := send(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, maxBody))
	return res.StatusCode, body, err
}

// authorize adds the key and the headers of a provider to a request to its server.
func authorize(req *http.Request, p Provider) {
	switch {
	case !hasKey(p):
	case req.URL.Hostname() == anthropicHost:
		req.Header.Set("X-Api-Key", p.APIKey.Reveal())
		req.Header.Set("Anthropic-Version", anthropicVersion)
	default:
		req.Header.Set("Authorization", "Bearer "+p.APIKey.Reveal())
	}
	for key, value := range p.Headers {
		req.Header.Set(key, value)
	}
}

// A listing is what a list says of a model.
type listing struct {
	ID      string  `json:"id"`
	Created float64 `json:"created"` // in seconds; 0: not said
	// How much it reads, as one server or another says it; see length.
	Length      tokens `json:"context_length"`
	MaxModelLen tokens `json:"max_model_len"`
	Window      tokens `json:"context_window"`
	MaxLength   tokens `json:"max_context_length"`
	MaxInput    tokens `json:"max_input_tokens"`
	Top         struct {
		Length tokens `json:"context_length"`
	} `json:"top_provider"`
}

// listed are the IDs in a list.
func listed(body []byte) ([]string, error) {
	var list struct {
		Data []listing `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Data == nil {
		return nil, fmt.Errorf("list models: %w: the server there is not a model server", ErrUnavailable)
	}
	slices.SortStableFunc(list.Data, func(a, b listing) int { return cmp.Compare(b.Created, a.Created) })
	ids := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		if m.ID != "" {
			ids = append(ids, m.ID)
		}
	}
	return ids, nil
}
