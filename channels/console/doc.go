// Package console is the terminal of this machine as a channel (kind "console").
//
// The engine's side is Channel: its Routes take messages and stream a session's
// events to local clients over the engine's own socket, whose file mode says who
// may connect; whoever can is believed about which person they are. The terminal's
// side is Chat, which talks to them from another process, or the same one.
//
// Chat outlives its engine: what is not answered is sent again under the same key to
// the next one, and the events go on behind the last one seen. The line editor is
// our own, because none was found that takes joined characters for one, marked
// pastes and output while typing, from any input. Where a terminal draws a joined
// character (an emoji of several) wider than Unicode says, the cursor is off until
// it is erased.
//
// A conversation is a person and a session name. Clients read for themselves, so
// Send is never used. The package knows neither router nor store: events come from
// a SessionReader.
package console
