package money

import (
	"sync"
	"time"
)

// Notified keeps an engine from asking the database each time whether a notice of a limit was given. The zero value is one
// that knows of none; methods may be called at once.
type Notified struct {
	mu sync.Mutex
	at map[string]time.Time
}

// First says that nobody was to be notified of it lately.
func (n *Notified) First(about string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.at[about]) < 10*time.Minute {
		return false
	}
	if len(n.at) > 1000 || n.at == nil {
		n.at = map[string]time.Time{}
	}
	n.at[about] = now
	return true
}
