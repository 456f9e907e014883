// Package tools owns what the agent can do besides talking: the registry of
// tools with their schemas, the built-in tools, and exec, which runs commands in the
// sandbox below it.
// It also owns the words that tools, the agent and the policy gate share (taint,
// effect, the gate's question and decision), being the lowest package they all
// may import.
//
// It imports nothing else of this module but what lies below it, and knows no session, channel or
// database; the agent is the caller.
package tools
