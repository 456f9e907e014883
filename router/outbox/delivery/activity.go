package delivery

import (
	"time"

	"switchboard/router/core"
)

// activeEvery is how often the other engines are told at most that something happened here.
const activeEvery = time.Second

// Active notes that a turn, a delivery, a channel or what an admin may change is not as it was, here and, a moment later, at the other engines.
func (cs *Connections) Active() {
	cs.Activity.Note()
	if cs.Wakes != nil && !cs.telling.Swap(true) {
		time.AfterFunc(activeEvery, func() {
			cs.telling.Store(false)
			cs.Wake(core.Wake{Kind: core.WakeActive})
		})
	}
}
