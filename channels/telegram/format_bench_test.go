package telegram

import (
	"os"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// benchmarked are answers: dense with marks, ordinary, and too long for one message.
func benchmarked(b *testing.B) map[string]string {
	b.Helper()
	dense, err := os.ReadFile("testdata/format/answer.md")
	if err != nil {
		b.Fatal(err)
	}
	prose := strings.Repeat("An **ordinary** paragraph of an answer, with a [link](https://x.test/a) and some `code` in it, that goes on for about three lines as people and models write them, and ends.\n\n", 12)
	return map[string]string{
		"dense": string(dense),
		"prose": prose,
		"long":  strings.Repeat(prose+"```go\n"+strings.Repeat("if err := run(ctx); err != nil {\n\treturn err\n}\n", 20)+"```\n\n", 8),
	}
}

// BenchmarkFormat reads an answer and renders it; the library's own reading of the
// same text, in BenchmarkFormatParse, is what it is compared with.
func BenchmarkFormat(b *testing.B) {
	for name, source := range benchmarked(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(source)))
			b.ReportAllocs()
			for b.Loop() {
				formatted(source, 4096)
			}
		})
	}
}

func BenchmarkFormatParse(b *testing.B) {
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	for name, source := range benchmarked(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(source)))
			b.ReportAllocs()
			for b.Loop() {
				parser.Parse(text.NewReader([]byte(source)))
			}
		})
	}
}
