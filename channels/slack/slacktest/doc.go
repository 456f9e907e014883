// Package slacktest is a chat platform that speaks Slack's Web API and Socket Mode over
// real HTTP and WebSockets, for tests and for trying a bot with no account. It is as
// strict as the platform: what the documentation forbids is refused with the platform's
// error, and every refusal names the page it comes from.
//
// A test makes a Server with New, points a bot at its URL, BotToken and AppToken, acts as
// users (Say, Post, Edit, Press, …), reads what the conversations show (FromBot) and asks
// for faults (Break, Hang, Disconnect, Inject, …).
//
// Source of all rules: https://docs.slack.dev.
package slacktest
