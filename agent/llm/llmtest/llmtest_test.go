package llmtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"switchboard/agent/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const schema = `{"type":"object","properties":{"goal":{"type":"string"}},"required":["goal"],"additionalProperties":false}`

func body(name, schema, user string) string {
	format := ""
	if name != "" {
		format = `,"response_format":{"type":"json_schema","json_schema":{"name":"` + name + `","strict":true,"schema":` + schema + `}}`
	}
	text, _ := json.Marshal(user)
	return `{"model":"m","messages":[{"role":"system","content":"You."},{"role":"user","content":` + string(text) + `}]` + format + `}`
}

// ask posts a body; the answer's text is empty when there is none.
func ask(t *testing.T, srv *llmtest.Server, body string) (status int, text, raw string) {
	t.Helper()
	res, err := post(t.Context(), srv, body)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if json.Unmarshal(all, &c) == nil && len(c.Choices) > 0 {
		text = c.Choices[0].Message.Content
	}
	return res.StatusCode, text, string(all)
}

func post(ctx context.Context, srv *llmtest.Server, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true // no connection is left behind
	return http.DefaultClient.Do(req)
}

func TestSchemaFaultsAreNamed(t *testing.T) {
	t.Parallel()
	deep := `{"type":"string"}`
	for range 6 {
		deep = `{"type":"object","properties":{"a":` + deep + `},"required":["a"],"additionalProperties":false}`
	}
	for name, tt := range map[string]struct{ schema, says string }{
		"fine":            {schema, ""},
		"nullable":        {`{"type":"object","properties":{"a":{"type":["array","null"],"items":{"type":"string"}},"b":{"enum":["x"]}},"required":["a","b"],"additionalProperties":false}`, ""},
		"references":      {`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],"additionalProperties":false,"$defs":{"n":{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},"required":["next"],"additionalProperties":false}}}`, ""},
		"not JSON":        {`{"type":`, "not JSON"},
		"no object":       {`{"type":"array","items":{"type":"string"}}`, `got 'type: "array"'`},
		"open":            {`{"type":"object","properties":{},"required":[]}`, "In context=(), 'additionalProperties' is required to be supplied and to be false"},
		"open inside":     {`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{}}}},"required":["a"],"additionalProperties":false}`, "In context=('properties', 'a', 'items'), 'additionalProperties'"},
		"optional":        {`{"type":"object","properties":{"a":{"type":"string"}},"required":[],"additionalProperties":false}`, "Missing 'a'"},
		"required of air": {`{"type":"object","properties":{},"required":["a"],"additionalProperties":false}`, "'a', which is no property"},
		"minLength":       {`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`, "'minLength' is not permitted"},
		"pattern":         {`{"type":"object","properties":{"a":{"type":"string","pattern":"x"}},"required":["a"],"additionalProperties":false}`, "'pattern' is not permitted"},
		"format":          {`{"type":"object","properties":{"a":{"type":"string","format":"date"}},"required":["a"],"additionalProperties":false}`, "'format' is not permitted"},
		"default":         {`{"type":"object","properties":{"a":{"type":"string","default":""}},"required":["a"],"additionalProperties":false}`, "'default' is not permitted"},
		"no type":         {`{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`, "must have a 'type' key"},
		"odd type":        {`{"type":"object","properties":{"a":{"type":"text"}},"required":["a"],"additionalProperties":false}`, `"text"`},
		"no items":        {`{"type":"object","properties":{"a":{"type":"array"}},"required":["a"],"additionalProperties":false}`, "missing items"},
		"open in a union": {`{"type":"object","properties":{"a":{"anyOf":[{"type":"object","properties":{}},{"type":"null"}]}},"required":["a"],"additionalProperties":false}`, "'additionalProperties'"},
		"lost reference":  {`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],"additionalProperties":false}`, "cannot be resolved"},
		"too deep":        {deep, "levels of nesting"},
	} {
		err := llmtest.CheckSchema("plan", true, json.RawMessage(tt.schema))
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error %v should say %q", name, err, tt.says)
		}
	}
	if llmtest.CheckSchema("a plan", true, json.RawMessage(schema)) == nil || llmtest.CheckSchema("plan", false, json.RawMessage(schema)) == nil {
		t.Error("a bad name or no strictness is taken")
	}
}

func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.ExpectFaults()
	srv.Forbid("worker", "SECRET-OF-THE-PLANNER")
	srv.Require("planner", "RULES")
	srv.Fenced("OUTSIDE")
	for name, tt := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"worker":              {body("", "", "## Task\nhello"), 200, ""},
		"planner":             {body("plan", schema, "## New message\nRULES"), 200, ""},
		"reviewer":            {body("review", schema, "## Goal\n<<<data-0123456789abcdef\n## New message\ndata-0123456789abcdef>>>"), 200, ""},
		"not JSON":            {"{", 400, "could not parse"},
		"unknown field":       {`{"model":"m","messages":[{"role":"user","content":"x"}],"foo":1}`, 400, "foo"},
		"no model":            {`{"messages":[{"role":"user","content":"x"}]}`, 400, "model"},
		"no messages":         {`{"model":"m","messages":[]}`, 400, "empty array"},
		"odd role":            {`{"model":"m","messages":[{"role":"robot","content":"x"}]}`, 400, "robot"},
		"no user":             {`{"model":"m","messages":[{"role":"system","content":"x"}]}`, 400, "no user message"},
		"bad schema":          {body("plan", `{"type":"object"}`, "RULES"), 400, `"param":"response_format"`},
		"forbidden":           {body("", "", "SECRET-OF-THE-PLANNER"), 400, "must not see"},
		"missing":             {body("plan", schema, "x"), 400, "must see"},
		"unfenced":            {body("", "", "x OUTSIDE"), 400, "outside of a fence"},
		"fenced":              {body("", "", "<<<data-0123456789abcdef\nOUTSIDE\ndata-0123456789abcdef>>>"), 200, ""},
		"conversation":        {body("", "", "## Recent messages\n- x"), 400, "must not see the section"},
		"facts for a verdict": {body("review", schema, "## Known facts\n- x"), 400, "must not see the section"},
	} {
		before := len(srv.Faults())
		status, _, raw := ask(t, srv, tt.body)
		if status != tt.status || !strings.Contains(raw, tt.says) {
			t.Errorf("%s: status %d, %s; want %d, %q", name, status, raw, tt.status, tt.says)
		}
		if got := len(srv.Faults()) - before; got != map[bool]int{true: 0, false: 1}[tt.status == 200] {
			t.Errorf("%s: %d faults", name, got)
		}
	}
	srv.AnySlice()
	if status, _, raw := ask(t, srv, body("", "", "## Recent messages\n- x")); status != 200 {
		t.Errorf("with any slice: %d, %s", status, raw)
	}
	if status, _, _ := ask(t, srv, body("", "", "SECRET-OF-THE-PLANNER")); status != 400 {
		t.Error("AnySlice lifted other checks as well")
	}
}

// recorder is a test that notes whether it was failed.
type recorder struct {
	testing.TB
	cleanups []func()
	errors   int
}

func (r *recorder) Helper()               {}
func (r *recorder) Cleanup(f func())      { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(string, ...any) { r.errors++ }

func TestNewFailsTheTestForFaults(t *testing.T) {
	t.Parallel()
	for _, expected := range []bool{false, true} {
		r := &recorder{TB: t}
		srv := llmtest.New(r)
		if expected {
			srv.ExpectFaults()
		}
		ask(t, srv, "{")
		for _, f := range r.cleanups {
			f()
		}
		if (r.errors == 0) != expected {
			t.Errorf("expected %t, %d errors", expected, r.errors)
		}
	}
}

func TestScriptedRepliesAreSentInOrder(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.Text("one"), llmtest.JSON(map[string]int{"two": 2}), llmtest.Reply{NoChoices: true},
		llmtest.Reply{Refusal: "no"}, llmtest.Reply{Text: "x", Reasoning: "r", ReasoningContent: "rc", Finish: "length", Usage: &llmtest.Usage{In: 7, Out: 8, Cached: 3}},
		llmtest.Garbage(), llmtest.Empty(), llmtest.RateLimited(1500*time.Millisecond))
	for i, want := range []struct {
		status int
		text   string
		holds  []string
	}{
		{200, "one", []string{`"finish_reason":"stop"`, `"object":"chat.completion"`}},
		{200, `{"two":2}`, nil},
		{200, "", []string{`"choices":[]`}},
		{200, "", []string{`"content":null`, `"refusal":"no"`}},
		{200, "x", []string{`"reasoning":"r"`, `"reasoning_content":"rc"`, `"finish_reason":"length"`, `"prompt_tokens":7`, `"completion_tokens":8`, `"cached_tokens":3`}},
		{200, "", []string{"html"}},
		{200, "", nil},
		{429, "", []string{"rate_limit_exceeded"}},
		{429, "", []string{"rate_limit_exceeded"}},
	} {
		status, text, raw := ask(t, srv, body("", "", "x"))
		if status != want.status || text != want.text {
			t.Errorf("%d: %d %q, want %d %q", i, status, text, want.status, want.text)
		}
		for _, part := range want.holds {
			if !strings.Contains(raw, part) {
				t.Errorf("%d: %s lacks %s", i, raw, part)
			}
		}
	}
	res, err := post(t.Context(), srv, body("", "", "x"))
	if err != nil {
		t.Fatal(err)
	}
	if res.Header.Get("Retry-After") != "1.5" {
		t.Errorf("headers %v", res.Header)
	}
	_ = res.Body.Close()
}

func TestConnectionsBreakAsScripted(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.Reply{Text: "hello", CutAt: 30}, llmtest.Hang(), llmtest.Reply{Delay: time.Hour}, llmtest.Reply{ContentType: "-"})
	res, err := post(t.Context(), srv, body("", "", "x"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(res.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(all) != 30 {
		t.Errorf("%d bytes, error %v", len(all), err)
	}
	_ = res.Body.Close()
	for want := 2; want <= 3; want++ {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			for srv.Count() < want {
				time.Sleep(time.Millisecond) // sockets: no bubble
			}
			cancel()
		})
		if _, err := post(ctx, srv, body("", "", "x")); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		wg.Wait()
	}
	res, err = post(t.Context(), srv, body("", "", "x"))
	if err != nil {
		t.Fatal(err)
	}
	if res.Header.Values("Content-Type") != nil {
		t.Errorf("content type %v", res.Header)
	}
	_ = res.Body.Close()
}

func TestCloseEndsRequestsThatHang(t *testing.T) {
	t.Parallel()
	srv, err := llmtest.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	arrived := make(chan struct{})
	var once sync.Once
	srv.Handle(func(llmtest.Request) llmtest.Reply { once.Do(func() { close(arrived) }); return llmtest.Hang() })
	var wg sync.WaitGroup
	wg.Go(func() {
		if res, err := post(t.Context(), srv, body("", "", "x")); err == nil {
			t.Errorf("answered %d", res.StatusCode)
			_ = res.Body.Close()
		}
	})
	<-arrived
	srv.Close()
	srv.Close()
	wg.Wait()
	if _, err := llmtest.Start("nowhere:x"); err == nil {
		t.Error("a bad address is taken")
	}
}

func TestStreamedReplyComesInPieces(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.Text("a few words"))
	res, err := post(t.Context(), srv, strings.Replace(body("", "", "x"), `{"model"`, `{"stream":true,"model"`, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%v, error %v", res.Header, err)
	}
	var text strings.Builder
	for line := range bytes.Lines(all) {
		data, ok := bytes.CutPrefix(line, []byte("data: {"))
		if !ok {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal(append([]byte("{"), data...), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices {
			text.WriteString(c.Delta.Content)
		}
	}
	if text.String() != "a few words" || !bytes.HasSuffix(all, []byte("data: [DONE]\n\n")) {
		t.Errorf("stream %s", all)
	}
}

func TestRequestShowsThePrompt(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	const user = "## Known facts\n- a\n\n## New message\nb\n<<<data-0123456789abcdef\n## Not a section\ndata-0123456789abcdef>>>\nc"
	if status, _, raw := ask(t, srv, body("plan", schema, user)); status != 200 {
		t.Fatal(raw)
	}
	got := srv.Requests()[0]
	if got.Role != "planner" || got.Schema != "plan" || string(got.SchemaJSON) != schema || got.System != "You." || got.User != user || got.N != 1 {
		t.Errorf("request %+v", got)
	}
	if h := strings.Join(got.Headings(), ","); h != "Known facts,New message" || got.Section("Known facts") != "- a" || got.Section("Nothing") != "" || !got.Has("## Not") {
		t.Errorf("headings %s, section %q", h, got.Section("Known facts"))
	}
}

func TestBuildersWriteEveryFieldOfAPlan(t *testing.T) {
	t.Parallel()
	if got, want := llmtest.Plan("g", llmtest.Exec("ls", "files"), llmtest.Tool("time", map[string]any{"zone": nil}, "a time"), llmtest.Ask("which?", "a", "b")),
		`{"goal":"g","secrets":null,"tasks":[`+
			`{"type":"exec","detail":"ls","tool":null,"args":null,"expect":"files","choices":null,"answer":null},`+
			`{"type":"tool","detail":"Use time.","tool":"time","args":"{\"zone\":null}","expect":"a time","choices":null,"answer":null},`+
			`{"type":"msg","detail":"Ask.","tool":null,"args":null,"expect":null,"choices":["a","b"],"answer":"which?"}]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := llmtest.Plan("g"); got != `{"goal":"g","secrets":null,"tasks":[]}` {
		t.Error(got)
	}
	if got := llmtest.SecretPlan("g", "k", "v", llmtest.Msg("m")); !strings.Contains(got, `"secrets":[{"key":"k","value":"v"}]`) {
		t.Error(got)
	}
	for got, want := range map[string]string{
		llmtest.ReviewOK():   `{"learn":null,"reason":null,"status":"ok"}`,
		llmtest.Learned("l"): `{"learn":"l","reason":null,"status":"ok"}`,
		llmtest.Replan("r"):  `{"learn":null,"reason":"r","status":"replan"}`,
		llmtest.Replan(""):   `{"learn":null,"reason":null,"status":"replan"}`,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, role := range []string{"planner", "reviewer", "worker"} {
		if reply := llmtest.Agreeable(llmtest.Request{Role: role}); reply.Text == "" {
			t.Errorf("%s: no answer", role)
		}
	}
}

func TestWrongKeyIsRefused(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.RequireKey("sk-right")
	if status, _, raw := ask(t, srv, body("", "", "x")); status != 401 || !strings.Contains(raw, "invalid_api_key") {
		t.Errorf("status %d, %s", status, raw)
	}
}
