package router

// hear does what another engine's commit made possible here. It never blocks.
func (r *Router) hear(w Wake) {
	switch w.Kind {
	case WakeAll:
		r.turnWaits()
		r.leased.ask(0)
	case WakeStop:
		r.leased.ask(w.Turn)
	case WakeTurn:
		if r.channels[w.Channel] != nil || w.Channel == "" {
			r.turnWaits()
		}
	}
	r.Lines.hear(w)
}

// turnWaits looks for a turn that another engine cannot run, now or with the next
// worker that is free.
func (r *Router) turnWaits() {
	if idle, _ := r.workers.free(); idle <= 0 {
		r.waiting.Store(true)
	}
	r.signal()
}
