// Package discordtest is a chat platform that speaks Discord's wire format on this machine:
// the REST API (version 10), the gateway, interactions and the files behind attachments.
// It is as strict as the platform where the adapter could go wrong, and shows people a page
// to chat on (`switchboard dev discord`).
//
// It is the wire format alone; what every fake has in common is platformtest's.
//
// Source: https://docs.discord.com/developers/reference.
package discordtest
