// Package api is the HTTP API: the channel of kind api, on which programs talk to the bot, and every call that is not the
// machine's own (those are in cmd/switchboard/socket). A resource is a file, with what it needs as small interfaces.
//
// The calls are behind two doors. The socket in the data folder is opened by whoever runs the program, who is no token and may
// do everything. On TCP every call needs a token (door.go), which has one scope for each call.
package api
