// Package channelstest tests channels and plays one. Run is the conformance suite
// that every adapter passes; Platform is a chat platform in memory with faults on
// demand, used through Scripted in this process or through Listen by the real
// program; Sink records what a channel hands in.
//
// An adapter's test fills a Harness: the channel, and one func for each thing that
// the person or the fault can do on its platform. The person's side besides Say is
// Harness.People: Edit, Touch (an edit that changes nothing), Delete, Attach,
// SayInGroup, SayElsewhere (a command for another bot), SayInTopic, Press and Toasts
// (buttons and what a press is answered with), React, Member and Move. Restart makes
// a new channel of the same account. What is nil the platform cannot do; the cases
// that need it are left out by that ability alone, and Run logs their names. Abilities
// of the channel (Fetcher for the bytes of attachments, Features.Buttons for presses)
// are asked of the channel itself.
package channelstest
