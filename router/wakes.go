package router

// hear does what another engine's commit made possible here. It never blocks.
func (r *Router) hear(w Wake) {
	switch w.Kind {
	case WakeAll:
		r.runner.turnWaits()
		r.runner.leased.ask(0)
	case WakeStop:
		r.runner.leased.ask(w.Turn)
	case WakeTurn:
		if r.channels[w.Channel] != nil || w.Channel == "" {
			r.runner.turnWaits()
		}
	}
	r.Lines.hear(w)
}
