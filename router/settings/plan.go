package settings

// A Setting is one that counts now, as it would be written in the file; credentials are masked.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
	Live   bool   `json:"live"` // a change of it is used at once; else from the next start
}

// A Difference is a setting that is otherwise than before, or would be.
type Difference struct {
	Key  string `json:"key"`
	Was  string `json:"was"` // empty: it was not there
	Is   string `json:"is"`
	Live bool   `json:"live"`
}

// A Plan is what becomes of the settings by a change of them.
type Plan struct {
	// Change is ready to be made; nil: it cannot be, for the Faults.
	Change   *Change      `json:"-"`
	Diff     []Difference `json:"diff"`
	LocksOut []string     `json:"locks_out"` // keys after which who asks for it might not be heard any more
	Faults   []string     `json:"faults"`    // all there are
	Warnings []string     `json:"warnings"`
}
