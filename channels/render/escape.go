package render

import "switchboard/internal/words"

// Escape makes any text mean itself in Markdown.
func Escape(text string) string { return words.Escape(text) }
