// Package router is the way of a message: intake (who is speaking, may they,
// what is it), sessions with their turns in order, the policy gate, control
// commands, and deliveries in order to the channels.
//
//	Accept ─► [event key + message + turn] ─► turn runs (agent) ─► [message + deliveries] ─► sender ─► platform
//
// Everything goes in by Router.Accept and out by deliveries. The router names no
// platform, writes no SQL (store implements the interfaces declared here) and
// plans nothing (the agent does). cmd wires it.
package router
