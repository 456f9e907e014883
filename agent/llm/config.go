package llm

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"switchboard/internal/secrets"
)

// Config is the table [llm].
type Config struct {
	// Providers by name, which is the first segment of a model. "offline" is built
	// in.
	Providers map[string]Provider `toml:"providers"`
	// Models by alias.
	Models map[string]Model `toml:"models"`
	// Named says which setting names a model that is no alias, for errors. It may lack
	// any.
	Named map[string]string `toml:"-"`
}

// A Provider is one server that speaks for models.
type Provider struct {
	// Kind is the protocol: openai (any compatible server) | anthropic | offline.
	// Default openai.
	Kind string `toml:"kind"`
	// BaseURL is where the server is; empty: the kind's own.
	BaseURL string `toml:"base_url"`
	// APIKey; empty: the provider is inert until a role names it, unless its
	// BaseURL has a loopback host; NoKey: the server wants none.
	APIKey secrets.Secret `toml:"api_key"`
	// KeyFrom is where APIKey is kept ("env:NAME" or "file:PATH"), for errors; empty: in
	// the settings themselves.
	KeyFrom string `toml:"-"`
	// Headers go with every request.
	Headers map[string]string `toml:"headers"`
	// Timeout of one call, in place of the caller's; 0: the caller's. Default 0.
	Timeout time.Duration `toml:"timeout"`
}

// A Model is an alias.
type Model struct {
	// Model is "provider/name": the first segment names the provider, the rest,
	// which may hold more slashes, is its own model ID.
	Model string `toml:"model"`
	// ContextTokens bounds prompt and answer together; 0: as the server says, else 4096 at an
	// address of one's own machine or network and 32000 elsewhere. Default 0.
	ContextTokens int `toml:"context_tokens"`
	// MaxOutputTokens bounds the answer. Default 4096, and at most a fourth of what the model reads.
	MaxOutputTokens int `toml:"max_output_tokens"`
	// PriceIn and PriceOut are per million tokens, in the currency of [budget]; 0 is a
	// price, too. PriceCached is for tokens of the prompt that the provider's cache served;
	// nil: PriceIn. Default nil, not known.
	PriceIn     *float64 `toml:"price_in"`
	PriceOut    *float64 `toml:"price_out"`
	PriceCached *float64 `toml:"price_cached"`
	// Temperature from 0 to 2; nil: the provider's. Default nil.
	Temperature *float64 `toml:"temperature"`
}

// DefaultProvider is a table [llm.providers.NAME] with nothing set.
func DefaultProvider() Provider { return Provider{Kind: "openai"} }

// DefaultModel is a table [llm.models.ALIAS] with nothing set.
func DefaultModel() Model { return Model{MaxOutputTokens: 4096} }

// Validate returns all that is wrong with c, joined; each error begins with the
// key below [llm] it speaks of and a colon.
func (c Config) Validate() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		errs = append(errs, c.Providers[name].validate(name)...)
	}
	for _, alias := range slices.Sorted(maps.Keys(c.Models)) {
		errs = append(errs, c.model(alias)...)
	}
	return errors.Join(errs...)
}

func (p Provider) validate(name string) (errs []error) {
	key := "providers." + name
	if strings.Contains(name, "/") {
		errs = append(errs, fmt.Errorf("%s: the name of a provider has no slash", key))
	}
	if name == "offline" && p.Kind != "offline" {
		errs = append(errs, fmt.Errorf("%s.kind: the name \"offline\" belongs to the built-in model; choose another name", key))
	}
	if !slices.Contains([]string{"openai", "anthropic", "offline"}, p.Kind) {
		errs = append(errs, fmt.Errorf("%s.kind: %q is not one of openai, anthropic, offline", key, p.Kind))
	}
	if p.BaseURL != "" {
		u, err := url.Parse(p.BaseURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			errs = append(errs, fmt.Errorf("%s.base_url: is not an address such as \"https://host/v1\"", key))
		}
	}
	if p.Timeout < 0 {
		errs = append(errs, fmt.Errorf("%s.timeout: must not be negative", key))
	}
	return errs
}

func (c Config) model(alias string) (errs []error) {
	m, key := c.Models[alias], "models."+alias
	if alias == "offline" || strings.Contains(alias, "/") {
		errs = append(errs, fmt.Errorf("%s: an alias has no slash and is not \"offline\"; choose another name", key))
	}
	if m.Model != "offline" {
		provider, name, _ := strings.Cut(m.Model, "/")
		_, known := c.Providers[provider]
		switch {
		case provider == "" || name == "":
			errs = append(errs, fmt.Errorf("%s.model: %q is not of the form \"provider/name\"", key, m.Model))
		case !known && provider != "offline":
			errs = append(errs, fmt.Errorf("%s.model: there is no table [llm.providers.%s]", key, provider))
		}
	}
	if m.MaxOutputTokens < 1 {
		errs = append(errs, fmt.Errorf("%s.max_output_tokens: must be at least 1", key))
	} else if m.ContextTokens < 0 {
		errs = append(errs, fmt.Errorf("%s.context_tokens: must not be negative; 0 is what the server says", key))
	} else if m.ContextTokens > 0 && m.ContextTokens <= m.MaxOutputTokens {
		errs = append(errs, fmt.Errorf("%s.context_tokens: must be more than max_output_tokens, which is %d", key, m.MaxOutputTokens))
	}
	for i, price := range []*float64{m.PriceIn, m.PriceOut, m.PriceCached} {
		name := [...]string{"price_in", "price_out", "price_cached"}[i]
		if price != nil && *price < 0 {
			errs = append(errs, fmt.Errorf("%s.%s: must not be negative", key, name))
		} else if price != nil && !(*price <= maxPrice) {
			errs = append(errs, fmt.Errorf("%s.%s: %g is more than any price; at most %g", key, name, *price, float64(maxPrice)))
		}
	}
	if t := m.Temperature; t != nil && (*t < 0 || *t > 2) {
		errs = append(errs, fmt.Errorf("%s.temperature: %g is not between 0 and 2", key, *t))
	}
	return errs
}

// maxPrice bounds a price per million tokens, whatever the currency.
const maxPrice = 1e9

// NoKey as APIKey says that the server wants no key, so that none is sent.
const NoKey secrets.Secret = "none"
