package llmtest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// stream is the answer as server-sent events, one a piece.
func (r Reply) stream(req Request) [][]byte {
	var events [][]byte
	event := func(delta map[string]any, finish any, extra map[string]any) {
		frame := r.frame(req, "chat.completion.chunk", []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}})
		maps.Copy(frame, extra)
		events = append(events, fmt.Appendf(nil, "data: %s\n\n", mustJSON(frame)))
	}
	begin := map[string]any{"role": "assistant", "content": ""}
	for name, value := range map[string]string{"reasoning": r.Reasoning, "reasoning_content": r.ReasoningContent, "refusal": r.Refusal} {
		if value != "" {
			begin[name] = value
		}
	}
	pieces := r.Pieces
	if pieces == nil {
		pieces = strings.SplitAfter(r.Text, " ")
	}
	for i, piece := range pieces {
		begin["content"] = piece
		event(begin, nil, nil)
		begin = map[string]any{}
		if i+1 == r.HangAt {
			return events
		}
	}
	if r.NoEnd {
		return events
	}
	event(map[string]any{}, r.finish(), nil)
	if req.StreamUsage && !r.NoUsage {
		event(map[string]any{}, nil, map[string]any{"choices": []any{}, "usage": r.usage(req)})
	}
	return append(events, []byte("data: [DONE]\n\n"))
}

// sendEvents sends one event after the other, as a model comes up with them.
func (s *Server) sendEvents(w http.ResponseWriter, r *http.Request, reply Reply, events [][]byte) {
	if reply.CutAt > 0 {
		_, _ = w.Write(bytes.Join(events, nil)[:reply.CutAt])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	if reply.Pause == 0 && reply.Hold == nil {
		events = [][]byte{slices.Concat(events...)}
	}
	for i, event := range events {
		if i > 0 && !s.wait(r, reply.Pause) {
			return
		}
		if i == reply.HoldAt && reply.Hold != nil {
			select {
			case <-reply.Hold:
			case <-r.Context().Done():
				return
			case <-s.done:
				return
			}
		}
		_, _ = w.Write(event)
		_ = http.NewResponseController(w).Flush()
	}
	if reply.HangAt > 0 {
		s.wait(r, time.Hour)
		panic(http.ErrAbortHandler)
	}
}

// wait says whether the client is still there after that time.
func (s *Server) wait(r *http.Request, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.done:
	}
	return false
}
