// Package web is the page: the channel of kind web, on which people talk to the bot in a browser, and what an admin sees there of
// the program. It is HTML that the server writes, with htmx for what changes without a reload; page.js has what neither can do.
//
// A page is a file of handlers (chat.go, now.go …) and one of templates. What it needs stands at the top as small interfaces, which
// the features that chats and commands use implement. Everybody who sees a page is signed in (signin.go): a browser has a person, and
// the rights of that person are asked at every call.
package web
