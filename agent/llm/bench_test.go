package llm_test

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
)

// BenchmarkComplete makes calls with a prompt of 24 KB over a loopback
// connection. cpu-µs/op is the CPU of the whole process, server included.
func BenchmarkComplete(b *testing.B) {
	srv := llmtest.New(b)
	m := models(b, srv.URL())
	run(b, m, "smart")
}

// BenchmarkCompleteOwn is the part that is ours and net/http's client's: the transport
// answers at once.
func BenchmarkCompleteOwn(b *testing.B) {
	const answer = `{"choices":[{"message":{"content":"{\"goal\":\"x\"}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`
	m, err := llm.New(llm.Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(answer))}, nil
	}), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	run(b, m, llm.Offline)
}

// BenchmarkStreamOwn is the same with an answer of 200 words, a word an event.
func BenchmarkStreamOwn(b *testing.B) {
	const event = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"},\"finish_reason\":null}]}\n\n"
	answer := strings.Repeat(event, 200) + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":200}}\n\ndata: [DONE]\n\n"
	m, err := llm.New(llm.Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(&pieces{answer, len(event)})}, nil
	}), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	q := question(nil)
	q.Stream = func(string) bool { return true }
	before := cpu()
	for b.Loop() {
		if resp, err := m.Complete(b.Context(), llm.Offline, q); err != nil || resp.Usage.Out != 200 {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-µs/op")
}

func run(b *testing.B, m *llm.Models, model string) {
	q := question(schema)
	q.System = strings.Repeat("A line of the prompt that says \"something\" about tools.\n", 300)
	q.User = strings.Repeat("A line of the conversation, with a word or two.\n", 150)
	before := cpu()
	for b.Loop() {
		if _, err := m.Complete(b.Context(), model, q); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-µs/op")
}

// cpu is what this process used so far, in microseconds.
func cpu() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return (u.Utime.Sec+u.Stime.Sec)*1e6 + u.Utime.Usec + u.Stime.Usec
}
