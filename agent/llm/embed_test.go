package llm_test

import (
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
)

// Vectors come in the order of their texts, each of length 1, and are paid for as answers are.
func TestTextsAreEmbedded(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	models := models(t, srv.URL())
	y := &tally{}
	req := llm.Request{Role: "embeddings", Embed: []string{"my car", "the sea", "your vehicle"}, Reserve: y.question(false).Reserve}
	got, err := models.Complete(t.Context(), "smart", req)
	if err != nil || len(got.Vectors) != 3 || len(got.Vectors[0]) != llmtest.Dimension {
		t.Fatalf("%d vectors, %v", len(got.Vectors), err)
	}
	dot := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	if v := got.Vectors; math.Abs(dot(v[1], v[1])-1) > 1e-5 || dot(v[0], v[2]) < 0.9 || dot(v[0], v[1]) > 0.4 {
		t.Errorf("%g, %g, %g", dot(v[1], v[1]), dot(v[0], v[2]), dot(v[0], v[1]))
	}
	if got.Exchange.Provider == "" || got.Usage.In == 0 || got.Usage.Cost == 0 || len(y.quotes) != 1 || y.quotes[0].Most < got.Usage.Cost {
		t.Errorf("%+v, %+v, reserved %+v", got.Exchange.Provider, got.Usage, y.quotes)
	}
	_, err = models.Complete(t.Context(), llm.Offline, req)
	if err == nil {
		t.Error("the offline model makes vectors")
	}
	if n := len(srv.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// What is no answer to the texts is an error, and nothing is made of a part of it.
func TestVectorsThatAreNone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body   string
		status int
		err    error
	}{
		"too few":      {`{"data":[{"index":0,"embedding":[1,0]}]}`, 200, llm.ErrUnavailable},
		"twice":        {`{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}`, 200, llm.ErrUnavailable},
		"out of range": {`{"data":[{"index":0,"embedding":[1,0]},{"index":-1,"embedding":[1,0]}]}`, 200, llm.ErrUnavailable},
		"two lengths":  {`{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1]}]}`, 200, llm.ErrUnavailable},
		"empty":        {`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`, 200, llm.ErrUnavailable},
		"no direction": {`{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[0,0]}]}`, 200, llm.ErrUnavailable},
		"no number":    {`{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1e39,0]}]}`, 200, llm.ErrUnavailable},
		"an answer":    {`{"choices":[{"message":{"content":"hi"}}]}`, 200, llm.ErrUnavailable},
		"no JSON":      {`<html>`, 200, llm.ErrUnavailable},
		"too long":     {`{"error":{"message":"input is too long"}}`, 400, llm.ErrContextTooLong},
		"200 and ill":  {`{"error":{"message":"no such model","code":404}}`, 200, llm.ErrUnknownModel},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			models := models(t, srv.URL())
			srv.Embeds(0, func(llmtest.Request) (llmtest.Reply, bool) {
				return llmtest.Reply{Status: tt.status, Body: []byte(tt.body), Header: map[string]string{"X-Should-Retry": "false"}}, true
			})
			got, err := models.Complete(t.Context(), "smart", llm.Request{Role: "embeddings", Embed: []string{"a", "b"}})
			if !errors.Is(err, tt.err) || got.Vectors != nil || strings.Contains(err.Error(), key) {
				t.Errorf("%v, %v", got.Vectors, err)
			}
			if tt.status == http.StatusOK && got.Usage.Cost == 0 && tt.err == llm.ErrUnavailable {
				t.Error("it cost nothing, though the server answered")
			}
		})
	}
}
