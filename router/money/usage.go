package money

// A Spent is what was spent on models in a day: in all, by a person or in a session.
type Spent struct {
	Scope    string  `json:"scope"`          // day | person | session
	Name     string  `json:"name,omitempty"` // the person, the session's key
	Settled  float64 `json:"settled"`
	Reserved float64 `json:"reserved"` // set aside for calls that are being made
}

// A UsageFilter picks what was used of models; what is empty picks all.
type UsageFilter struct {
	Since  string // a day, YYYY-MM-DD
	By     string // day | person | model | role
	Person string // whose
}

// UsageBy are the ways to sum usage up.
var UsageBy = []string{"day", "person", "model", "role"}

// Usage is what was used of models, summed up.
type Usage struct {
	Name  string `json:"name"` // the day, person, model or role
	Calls int64  `json:"llm_calls"`
	// BilledTokens are TokensIn and TokensOut; CachedTokens are those of TokensIn that a
	// provider's cache served.
	BilledTokens int64   `json:"billed_tokens"`
	TokensIn     int64   `json:"tokens_in"`
	TokensOut    int64   `json:"tokens_out"`
	CachedTokens int64   `json:"cached_tokens"`
	Cost         float64 `json:"cost"`
}
