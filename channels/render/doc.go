// Package render turns the Markdown an answer is written in into what a platform
// shows. Parse makes one tree (CommonMark with tables, strikethrough, task lists,
// bare links and ||spoilers||). Document.Lay puts it into lines, as a Text: characters,
// and spans that say what they mean. Text.Split cuts that into pieces that a platform
// accepts, measured in the platform's unit; Text.Emit tells an adapter's emitter, in
// its format.go, what to write. Plain is the emitter for text without markup.
//
// It knows no platform. The router calls Document.Parts for every channel that has no
// formatter; the terminal calls Plain.
package render
