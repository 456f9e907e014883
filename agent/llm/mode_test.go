package llm_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
)

// What models make of JSON that nobody holds them to.
func TestUntidyJSONIsRead(t *testing.T) {
	t.Parallel()
	const tidy = `{"goal":"it's \"x\"","tasks":[{"n":1,"none":null}]}`
	for name, tt := range map[string]struct{ text, want string }{
		"fence":           {"```json\n" + tidy + "\n```", tidy},
		"fence, no name":  {"```\n" + tidy + "```", tidy},
		"prose":           {"Sure! Here is {the plan}:\n\n" + tidy + "\n\nShall I go on?", tidy},
		"trailing commas": {`{"goal":"it's \"x\"","tasks":[{"n":1,"none":null,},],}`, tidy},
		"single quotes":   {`{'goal':'it\'s "x"','tasks':[{'n':1,'none':None}]}`, tidy},
		"mixed quotes":    {`{"goal": "it's \"x\"", 'tasks': [{'n': 1, 'none': null}]}`, tidy},
		"all at once":     {"OK:\n```json\n{'goal': \"it's \\\"x\\\"\", 'tasks': [{'n': 1, 'none': None,},],}\n```\nDone.", tidy},
		"line break":      {"{\"goal\":\"a\nb\"}", `{"goal":"a\nb"}`},
		"said twice":      {tidy + "\n\nSo:\n```json\n" + tidy + "\n```", tidy},
		"thoughts":        {"<think>{'a'}</think>\n```json\n{\"goal\":\"<think>a</think>\"}\n```", `{"goal":"<think>a</think>"}`},
		"tidy":            {" { \"goal\" : 'x' }", `{"goal":"x"}`},
	} {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, streamed %t", name, streamed), func(t *testing.T) {
				t.Parallel()
				srv := llmtest.New(t)
				srv.Script(llmtest.Text(tt.text))
				q := question(schema)
				if streamed {
					q.Stream = func(string) bool { return true }
				}
				resp, err := models(t, srv.URL()).Complete(t.Context(), "smart", q)
				if err != nil || resp.Text != tt.want || srv.Count() != 1 {
					t.Errorf("answer %s after %d requests, want %s; error %v", resp.Text, srv.Count(), tt.want, err)
				}
				if !streamed && !strings.Contains(string(resp.Exchange.Response), "chatcmpl") {
					t.Errorf("kept %s", resp.Exchange.Response)
				}
			})
		}
	}
	for name, text := range map[string]string{
		"two plans":      `{"goal":"a"} or rather {"goal":"b"}`,
		"cut off":        "```json\n{\"goal\":\"a",
		"no object":      "```json\n[1,\n```",
		"plan in a text": `{'goal':'it's {"goal":"b"}'}`,
		"double comma":   `{"goal":"a",,}`,
		"quote too few":  `{'goal':'it's'}`,
		"too deep":       strings.Repeat(`{'a':`, 200) + "1" + strings.Repeat("}", 200),
		"braces":         strings.Repeat("{", 100_000),
		"open keys":      strings.Repeat(`{"a":`, 20_000) + "x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			srv.Script(llmtest.Text(text))
			resp, err := models(t, srv.URL()).Complete(t.Context(), "smart", question(schema))
			if !errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), "not the JSON") || resp.Finish != "stop" || srv.Count() != 1 {
				t.Errorf("answer %s, error %v, %d requests", resp.Text, err, srv.Count())
			}
		})
	}
}

// A server that refuses structured output is asked in a form that it takes, now and
// from then on.
func TestRefusedOutputFormatFallsBackToAnother(t *testing.T) {
	t.Parallel()
	openAI := llmtest.NoStructuredOutput()
	for name, tt := range map[string]struct {
		refuses map[string]llmtest.Reply // by format
		forms   string                   // in which the server was asked, call by call
	}{
		"openai, an old model": {map[string]llmtest.Reply{"json_schema": openAI}, "json_schema json_object | json_object | json_object"},
		"neither": {map[string]llmtest.Reply{
			"json_schema": llmtest.Raw(400, `{"error":{"message":"This model does not support response format `+"`json_schema`"+`."}}`),
			"json_object": llmtest.Raw(400, `{"error":"'response_format.type' must be 'json_schema' or 'text'"}`),
		}, "json_schema json_object - | - | -"},
		// tools/server/utils.hpp, oaicompat_chat_params_parse, before it knew json_schema
		"llama.cpp, old": {map[string]llmtest.Reply{
			"json_schema": llmtest.Raw(500, `{"error":{"code":500,"message":"response_format type must be one of \"text\" or \"json_object\", but got: json_schema","type":"server_error"}}`),
		}, "json_schema json_object | json_object | json_object"},
		"llama.cpp, grammar": {map[string]llmtest.Reply{
			"json_schema": llmtest.Raw(400, `{"error":{"code":400,"message":"failed to parse grammar","type":"invalid_request_error"}}`),
		}, "json_schema json_object | json_object | json_object"},
		"deepseek": {map[string]llmtest.Reply{
			"json_schema": llmtest.Raw(400, `{"error":{"message":"This response_format type is unavailable now"}}`),
		}, "json_schema json_object | json_object | json_object"},
		"pydantic": {map[string]llmtest.Reply{
			"json_schema": llmtest.Raw(422, `{"detail":[{"loc":["body","response_format","type"],"msg":"Input should be 'text' or 'json_object'"}]}`),
		}, "json_schema json_object | json_object | json_object"},
		"openrouter": {map[string]llmtest.Reply{
			"json_schema": llmtest.Raw(404, `{"error":{"message":"No endpoints found that can handle the requested parameters.","code":404}}`),
		}, "json_schema json_object | json_object | json_object"},
		"error in a 200": {map[string]llmtest.Reply{
			"json_schema": llmtest.Raw(200, `{"error":{"message":"response_format is not supported","code":400}}`),
		}, "json_schema json_object | json_object | json_object"},
		// LM Studio takes nothing but json_schema, Ollama everything.
		"lm studio": {map[string]llmtest.Reply{
			"json_object": llmtest.Raw(400, `{"error":"'response_format.type' must be 'json_schema' or 'text'"}`),
		}, "json_schema | json_schema | json_schema"},
	} {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, streamed %t", name, streamed), func(t *testing.T) {
				t.Parallel()
				srv := llmtest.New(t)
				var mu sync.Mutex
				var forms []string
				srv.Handle(func(r llmtest.Request) llmtest.Reply {
					mu.Lock()
					defer mu.Unlock()
					form := r.Format
					if form == "" {
						form = "-"
					}
					forms = append(forms, form)
					if r.Schema != "plan" || r.Format != "json_schema" && !strings.Contains(r.System, string(schema.JSON)) {
						t.Errorf("asked in the form %s without the schema: %s", form, r.System)
					}
					if refusal, ok := tt.refuses[form]; ok {
						return refusal
					}
					return llmtest.Text(`{"goal":"x"}`)
				})
				m, q := models(t, srv.URL()), question(schema)
				if streamed {
					q.Stream = func(string) bool { return true }
				}
				for range 3 {
					if resp, err := m.Complete(t.Context(), "smart", q); err != nil || resp.Text != `{"goal":"x"}` {
						t.Fatalf("answer %q, error %v", resp.Text, err)
					}
					mu.Lock()
					forms = append(forms, "|")
					mu.Unlock()
				}
				if got := strings.TrimSuffix(strings.Join(forms, " "), " |"); got != tt.forms {
					t.Errorf("asked in the forms %s, want %s", got, tt.forms)
				}
			})
		}
	}
}

// Free text has no format that a server could refuse.
func TestFreeTextKeepsItsForm(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.NoStructuredOutput(), llmtest.Text(`{"goal":"x"}`))
	m := models(t, srv.URL())
	if _, err := m.Complete(t.Context(), "smart", question(nil)); !errors.Is(err, llm.ErrRefused) {
		t.Errorf("error %v", err)
	}
	if _, err := m.Complete(t.Context(), "smart", question(schema)); err != nil || srv.Requests()[1].Format != "json_schema" {
		t.Errorf("asked in the form %q, error %v", srv.Requests()[1].Format, err)
	}
}
