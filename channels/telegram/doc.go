// Package telegram is the adapter of kind "telegram": one bot account on the Bot
// API, through github.com/go-telegram/bot.
//
// Inbound, the library's own loop asks for updates through a poller that answers it
// only when what came is committed, so that the loop never confirms more than that;
// each update is decoded on its own from the bytes that came. Outbound, every call
// goes through one place (Client.exchange, over package wire) that knows what became of
// it: never left this machine, refused, done, or unknown.
//
// The router calls it, and nobody else; it knows the packages channels and
// channels/render. What the platform's pages say is cited where it is used.
package telegram
