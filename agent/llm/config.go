package llm

import "time"

// Config is the table [llm].
type Config struct {
	Providers map[string]Provider `toml:"providers"`
	Models    map[string]Model    `toml:"models"`
}

// A Provider is one server that speaks for models.
type Provider struct {
	Kind    string            `toml:"kind"`     // openai | anthropic | offline
	BaseURL string            `toml:"base_url"` // empty: the kind's own
	APIKey  Secret            `toml:"api_key"`  // empty: the provider is inert until a role names it
	Headers map[string]string `toml:"headers"`
	Timeout time.Duration     `toml:"timeout"` // of one call; 0: the caller's
}

// A Model is an alias.
type Model struct {
	Model           string   `toml:"model"` // first segment names the provider, the rest is its own model ID
	ContextTokens   int      `toml:"context_tokens"`
	MaxOutputTokens int      `toml:"max_output_tokens"`
	PriceIn         float64  `toml:"price_in"`    // per million tokens
	PriceOut        float64  `toml:"price_out"`   // per million tokens
	Temperature     *float64 `toml:"temperature"` // nil: the provider's
}

// Secret is a credential; printing, logging or encoding it yields a placeholder.
type Secret string

func (Secret) String() string               { return "[redacted]" }
func (Secret) GoString() string             { return "[redacted]" }
func (Secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// Reveal is the credential itself, for the request that needs it.
func (s Secret) Reveal() string { return string(s) }
