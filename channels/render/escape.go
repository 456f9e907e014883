package render

import "strings"

// Escape makes any text mean itself in Markdown.
func Escape(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 8)
	for _, r := range text {
		if strings.ContainsRune("\\`*_{}[]()<>#+-.!|~$&:@=\"'^/", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
