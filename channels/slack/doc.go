// Package slack is the adapter of kind "slack": one app in one workspace, through the Web
// API of github.com/slack-go/slack and a socket loop of our own.
//
// Inbound, Run keeps one Socket Mode connection. What comes on it is decoded here, one
// frame at a time, handed in in order and acknowledged when it is committed. A mark per
// channel and thread says how far its history was read; after every connect the history
// since then is read before what came on the socket for that place. Outbound, every call
// goes through Client.call, which knows what became of it: never left this machine,
// refused, done, or unknown. A part bears its nonce as metadata, by which a lost one is
// looked up.
//
// The router calls it, and nobody else; it knows the packages channels and
// channels/render. What the platform's pages say is cited where it is used.
package slack
