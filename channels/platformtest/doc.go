// Package platformtest is what every fake chat platform has in common: a server on
// this machine, its clock, the calls of bots that reached it, faults on demand, files,
// and the page on which a person chats with the bot. A fake embeds a Host and adds its
// platform's wire format (telegramtest, slacktest, discordtest).
//
// It imports nothing else of ours, and no product code but those fakes and `switchboard
// dev` imports it.
package platformtest
