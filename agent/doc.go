// Package agent answers one turn: it plans, acts, has each act reviewed, plans
// again where needed, and answers. Run reads from top to bottom:
//
//	context ─► plan ─► validate ─► task … review ─► replan … ─► msg
//
// Everything is committed through a Journal before it is acted on, so that a
// turn cut off at any instant is resumed by running Run again: model answers and
// finished tasks that are in the journal are taken from it and never asked for
// or done twice.
//
// It imports only its own subpackages, and never sees a channel or a database:
// the router implements Journal, hands in the turn, and is the caller.
package agent
