package router

import "switchboard/router/ledger"

// onWake does what another engine's commit made possible here. It never blocks.
func (r *Router) onWake(w ledger.Wake) {
	switch w.Kind {
	case ledger.WakeAll:
		r.runner.turnWaits()
		r.runner.leased.ask(0)
	case ledger.WakeStop:
		r.runner.leased.ask(w.Turn)
	case ledger.WakeTurn:
		if r.channels[w.Channel] != nil || w.Channel == "" {
			r.runner.turnWaits()
		}
	}
	r.Lines.OnWake(w)
}
