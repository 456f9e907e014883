// Package outbox brings what is said to the channels: a line for each channel with its
// lease, its connection and the supervisor of that, the sender with its limits, what is
// shown while a turn works, and how texts are rendered for a platform.
//
//	committed ─► Line.Committed ─► sender: head of the conversation ─► limits ─► Send ─► Settle
package outbox
