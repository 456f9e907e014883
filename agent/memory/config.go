package memory

import "time"

// Config is the table [memory].
type Config struct {
	// Learning false keeps nothing of what reviews and quiet looks teach; what people ask to be remembered is. Default true.
	Learning bool `toml:"learning"`
	// DeniedCategories are never remembered, of Categories. Default none.
	DeniedCategories []string `toml:"denied_categories"`
	// ExpireAfter is after how long what was not used is forgotten, unless somebody asked for it; 0: never, the default.
	ExpireAfter time.Duration `toml:"expire_after"`
	// MinConfidence from 0 to 1 is needed by a fact to be recalled by itself. Default 0.5.
	MinConfidence float64 `toml:"min_confidence"`
	// RecallTokens is how much of what is remembered one turn reads, in tokens; 0: nothing is recalled. Default 800.
	RecallTokens int `toml:"recall_tokens"`
	// PerDay is how often a model is asked for the sake of memory, for each person and day; 0: never. Default 50.
	PerDay int `toml:"per_day"`
}

// DefaultConfig is [memory] with nothing set.
func DefaultConfig() Config {
	return Config{Learning: true, MinConfidence: 0.5, RecallTokens: 800, PerDay: 50}
}
