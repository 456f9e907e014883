package offline

import (
	"io"
	"strings"
)

// pieceSize is how many bytes of a streamed answer come at once, at least.
const pieceSize = 48

// stream is the answer in events, as a model that writes word by word would send it.
func (t transport) stream(q request, asked int) []string {
	var all []string
	event := func(said map[string]any) { all = append(all, "data: "+encode(said)+"\n\n") }
	choose := func(delta map[string]any, finish any) map[string]any {
		return t.frame(q, "chat.completion.chunk", map[string]any{"index": 0, "delta": delta, "finish_reason": finish})
	}
	text := q.answer()
	for rest := text; rest != ""; {
		end := len(rest)
		if end > pieceSize {
			if at := strings.IndexAny(rest[pieceSize:], " \n"); at >= 0 {
				end = pieceSize + at + 1
			}
		}
		event(choose(map[string]any{"role": "assistant", "content": rest[:end]}, nil))
		rest = rest[end:]
	}
	event(choose(map[string]any{}, "stop"))
	used := t.frame(q, "chat.completion.chunk")
	used["usage"] = usage(asked, len(text))
	event(used)
	return append(all, "data: [DONE]\n\n")
}

// Events give one at a time to whoever reads.
type events struct{ left []string }

func (e *events) Read(p []byte) (int, error) {
	if len(e.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, e.left[0])
	if e.left[0] = e.left[0][n:]; e.left[0] == "" {
		e.left = e.left[1:]
	}
	return n, nil
}
