//go:build unix

package telegram

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// benchmarked are answers: dense with marks, ordinary, with a bare address, and too
// long for one message.
func benchmarked(b *testing.B) map[string]string {
	b.Helper()
	dense, err := os.ReadFile("testdata/format/answer.md")
	if err != nil {
		b.Fatal(err)
	}
	prose := strings.Repeat("An **ordinary** paragraph of an answer, with a [link](https://x.test/a) and some `code` in it, that goes on for about three lines as people and models write them, and ends.\n\n", 12)
	long := strings.Repeat(prose+"```go\n"+strings.Repeat("if err := run(ctx); err != nil {\n\treturn err\n}\n", 20)+"```\n\n", 8)
	const address = "See https://x.test/b.\n"
	return map[string]string{
		"dense": string(dense),
		"prose": prose, "prose, address": prose + address,
		"long": long, "long, address": long + address,
	}
}

// BenchmarkFormat reads an answer and renders it. What it is compared with is the
// library's own reading of the same text; "rate" is how fast that makes us, 1 being as
// fast. Both run in turns and are measured in processor time, because the machine has
// other work and changes its pace.
func BenchmarkFormat(b *testing.B) {
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	for name, source := range benchmarked(b) {
		b.Run(name, func(b *testing.B) {
			times := max(1, 1<<16/len(source)) // what is measured takes longer than the clock's tick
			var theirs, ours time.Duration
			for b.Loop() {
				start := busy(b)
				for range times {
					parser.Parse(text.NewReader([]byte(source)))
				}
				parsed := busy(b)
				for range times {
					formatted(source, 4096)
				}
				theirs, ours = theirs+parsed-start, ours+busy(b)-parsed
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N*times), "cpu-ns/answer")
			b.ReportMetric(float64(theirs)/float64(ours), "rate")
		})
	}
}

// busy is the processor time of this process, the collector's included.
func busy(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
