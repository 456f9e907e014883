// Package telegramtest is a chat platform that speaks Telegram's Bot API over real
// HTTP, for tests and for trying a bot with no account. It is as strict as the
// platform: what the documentation forbids is refused with the platform's code and
// description, and every refusal names the page it comes from.
//
// A test makes a Server with New, points a bot at its URL and Token, acts as users
// (Say, Post, Edit, Press, …), reads what the chats show (Messages) and asks for
// faults (Break, Deaf, Inject, …). `switchboard dev telegram` serves the same with a
// page to chat on.
//
// The package imports nothing else of ours, and no product code but that command
// imports it.
//
// Source of all rules: https://core.telegram.org/bots/api, as of Bot API 9.
package telegramtest
