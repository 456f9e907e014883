// Package audit has the rows of the audit log as people read them.
package audit

import (
	"encoding/json"
	"strings"
	"time"
)

// A Filter picks rows of the audit log; what is empty picks all.
type Filter struct {
	Person string
	// Kind is an action, or what stands before its dot.
	Kind         string
	Turn         int64
	Since, Until time.Time
}

// Has says that the filter picks a row.
func (f *Filter) Has(r *Record) bool {
	return (f.Person == "" || f.Person == r.Person) && (f.Turn == 0 || f.Turn == r.Turn) &&
		(f.Kind == "" || f.Kind == r.Action || strings.HasPrefix(r.Action, f.Kind+".")) &&
		(f.Since.IsZero() || !r.At.Before(f.Since)) && (f.Until.IsZero() || r.At.Before(f.Until))
}

// A Record is a row of the audit log, whole.
type Record struct {
	ID      int64           `json:"id,string"`
	At      time.Time       `json:"at"`
	Person  string          `json:"person"` // who; empty: a stranger, or nobody
	Action  string          `json:"action"`
	Target  string          `json:"target"`
	Rule    string          `json:"rule"` // that let or made it be so
	Outcome string          `json:"outcome"`
	Why     string          `json:"why"`
	Cost    float64         `json:"cost"`
	Session int64           `json:"session,string,omitempty"`
	Turn    int64           `json:"turn,string,omitempty"`
	Data    json.RawMessage `json:"data"`
}
