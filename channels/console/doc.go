// Package console is the terminal of this machine as a channel (kind "console").
//
// The engine's side is Channel: its Handler takes messages and streams a session's
// events to local clients over the engine's own socket, whose file mode says who
// may connect; whoever can is believed about which person they are. The terminal's
// side is Chat, which talks to that handler from another process, or the same one.
//
// A conversation is a person and a session name. Clients read for themselves, so
// Send is never used. The package knows neither router nor store: events come from
// a SessionReader.
package console
