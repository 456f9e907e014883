// Package channelstest tests channels and plays one. Run is the conformance suite
// that every adapter passes; Platform is a chat platform in memory with faults on
// demand, used through Scripted in this process or through Listen by the real
// program; Sink records what a channel hands in.
package channelstest
