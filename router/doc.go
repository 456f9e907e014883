// Package router takes in what comes from channels (who is speaking, may they, what is it),
// commits it, and has a runner run each session's turns in order.
//
//	Accept ─► [event key + message + turn] ─► turn runs (agent) ─► [message + deliveries] ─► delivery
//
// Its rooms: delivery brings what is said to the channels, view is what people are shown,
// ledger has the types that all of them and the store share. The router names no platform,
// writes no SQL (store implements the interfaces declared here) and plans nothing (the
// agent does). cmd wires it.
package router
