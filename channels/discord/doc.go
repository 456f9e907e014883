// Package discord is the adapter of kind "discord": one bot account on Discord.
//
// Inbound, a gateway loop of our own reads frames as they come, and a bounded hand-over keeps
// it reading while events are committed; a heartbeat and a resume name the last event that is
// committed. A new session reads from the history what came since the marks. Outbound, every
// call goes through github.com/bwmarrin/discordgo and one place (Client.call, over package wire)
// that knows what became of it: never left this machine, refused, done, or unknown.
//
// The router calls it, and nobody else; it knows the packages channels and channels/render.
// What the platform's pages say is cited where it is used.
package discord
