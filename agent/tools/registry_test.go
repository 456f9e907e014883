package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

var anySchema = json.RawMessage(`{"type":"object","properties":{
	"name":{"type":"string"},
	"count":{"type":["integer","null"],"minimum":1,"maximum":9},
	"kind":{"type":"string","enum":["a","b"]},
	"list":{"type":"array","items":{"type":"string"}},
	"on":{"type":"boolean"},
	"deep":{"type":["object","null"],"properties":{"x":{"type":"number"}},"required":["x"],"additionalProperties":false}
	},"required":["name","count","kind","list","on","deep"],"additionalProperties":false}`)

func sample(name string, run func(context.Context, Call) Result) Tool {
	return Tool{Name: name, Summary: "A sample.", Page: "how to", Schema: anySchema, Effect: EffectRead, Run: run}
}

func ok(context.Context, Call) Result { return Result{End: EndOK} }

const goodArgs = `{"name":"n","count":null,"kind":"a","list":["x"],"on":true,"deep":{"x":1.5}}`

func registry(t *testing.T, tools ...Tool) *Registry {
	t.Helper()
	r, err := NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNewRegistryNamesEveryFault(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		want   string
		change func(*Tool)
	}{
		{"a tool needs a name", func(t *Tool) { t.Name = "" }},
		{"a tool needs a name", func(t *Tool) { t.Name = ExecName }},
		{"the summary must be one line", func(t *Tool) { t.Summary = "a\nb" }},
		{"1 to 40 lines, not 41", func(t *Tool) { t.Page = strings.Repeat("x\n", 41) }},
		{"page must have", func(t *Tool) { t.Page = "" }},
		{`effect "magic" is not`, func(t *Tool) { t.Effect = "magic" }},
		{"nothing to run", func(t *Tool) { t.Run = nil }},
		{"schema:", func(t *Tool) { t.Schema = json.RawMessage(`{`) }},
		{`must be of type "object"`, func(t *Tool) { t.Schema = json.RawMessage(`{"type":"string"}`) }},
		{"additionalProperties must be false", func(t *Tool) { t.Schema = json.RawMessage(`{"type":"object","properties":{},"required":[]}`) }},
		{`property "a" must be required`, func(t *Tool) {
			t.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":[],"additionalProperties":false}`)
		}},
		{"schema.a[]: no type", func(t *Tool) {
			t.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"array","items":{}}},"required":["a"],"additionalProperties":false}`)
		}},
		{"an array needs items", func(t *Tool) {
			t.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"array"}},"required":["a"],"additionalProperties":false}`)
		}},
	} {
		bad := sample("bad", ok)
		test.change(&bad)
		_, err := NewRegistry(bad, sample("twice", ok), sample("twice", ok))
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `"twice": the name is taken`) {
			t.Errorf("want %q and the double name, got: %v", test.want, err)
		}
	}
	long := sample("long", ok)
	long.Page = strings.Repeat("x\n", MaxPageLines)
	r := registry(t, long, sample("b", ok), sample("a", ok))
	if all := r.All(); len(all) != 3 || all[0].Name != "long" || all[2].Name != "a" {
		t.Errorf("order: %v", all)
	}
	if _, found := r.Get("none"); found {
		t.Error("a tool that is not there was found")
	}
}

func TestCheckNamesThePropertyAndWhatIsWanted(t *testing.T) {
	t.Parallel()
	r := registry(t, sample("s", ok))
	with := func(key, value string) string {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(goodArgs), &m); err != nil {
			t.Fatal(err)
		}
		m[key] = json.RawMessage(value)
		if value == "" {
			delete(m, key)
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, test := range []struct{ args, want string }{
		{goodArgs, ""},
		{with("count", "3"), ""},
		{with("count", "3.0"), ""},
		{with("deep", "null"), ""},
		{"", "args: not valid JSON"},
		{"{", "args: not valid JSON"},
		{goodArgs + "x", "args: not valid JSON"},
		{"[]", "args: want object, got an array"},
		{with("name", ""), `args: property "name" is missing; want string`},
		{with("kind", ""), `args: property "kind" is missing; want one of ["a","b"]`},
		{with("name", "5"), "args.name: want string, got 5"},
		{with("count", `"5"`), `args.count: want integer or null, got the string "5"`},
		{with("count", "2.5"), "args.count: want integer or null, got 2.5"},
		{with("count", "10"), "args.count: 10 is outside 1 to 9"},
		{with("kind", `"c"`), `args.kind: want one of ["a","b"], got the string "c"`},
		{with("list", `["x",null]`), "args.list[1]: want string, got null"},
		{with("on", "{}"), "args.on: want boolean, got an object"},
		{with("deep", `{"x":1,"y":2}`), `args.deep: unknown property "y"; it has x`},
		{with("other", "1"), `args: unknown property "other"; it has count, deep, kind, list, name, on`},
		{with("name", `"`+strings.Repeat("x", MaxArgs)+`"`), "are more than the 65536 allowed"},
		{with("deep", "[[[[[1]]]]]"), "nested more than 5 levels"},
		{strings.Replace(goodArgs, "{", `{"name":"m",`, 1), `args: property "name" stands there twice`},
		{strings.Replace(goodArgs, "{", `{"\u006eame":"m",`, 1), `args: property "name" stands there twice`},
		{with("deep", `{"x":1,"x":2}`), `args: property "x" stands there twice`},
		{with("list", `["name","name","name"]`), ""},
	} {
		err := r.Check("s", json.RawMessage(test.args))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%.80s: want %q, got %v", test.args, test.want, err)
		}
	}
	if err := r.Check("none", nil); err == nil || !strings.Contains(err.Error(), `no tool "none"; the tools are: s`) {
		t.Errorf("unknown tool: %v", err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(goodArgs))
	f.Add([]byte(`{"deep":[[[[[`))
	f.Add([]byte("null"))
	r, err := NewRegistry(sample("s", ok))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		err := r.Check("s", args)
		var out struct {
			Name, Kind *string
			On         *bool
		}
		if err == nil && (json.Unmarshal(args, &out) != nil || out.Name == nil || out.Kind == nil || out.On == nil) {
			t.Errorf("accepted: %q", args)
		}
	})
}

func TestRunTurnsEverythingIntoAResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wait := func(ctx context.Context, _ Call) Result {
			<-ctx.Done()
			return Result{End: EndError, Code: "stopped", Output: "so far"}
		}
		slow, foreign, shy := sample("slow", wait), sample("foreign", ok), sample("shy", nil)
		slow.Timeout = 5 * time.Second
		foreign.Taints, shy.Taints = true, true
		shy.Run = func(context.Context, Call) Result { return Result{End: EndRefused, Code: "no"} }
		r := registry(t, slow, sample("patient", wait), foreign, shy,
			sample("crash", func(context.Context, Call) Result { panic("boom") }),
			sample("bytes", func(context.Context, Call) Result { return Result{End: EndOK, Output: "a\x00b\xffc"} }),
			sample("huge", func(context.Context, Call) Result { return Result{End: EndOK, Output: strings.Repeat("ü", 1000)} }))
		var log bytes.Buffer
		r.Log = slog.New(slog.NewTextHandler(&log, nil))
		r.OutputLimit = 300
		call := Call{Args: json.RawMessage(goodArgs)}

		start := time.Now()
		if got := r.Run(t.Context(), "slow", call); got.End != EndTimeout || got.Code != "timeout" || got.Output != "so far" || time.Since(start) != 5*time.Second {
			t.Errorf("slow: %+v after %s", got, time.Since(start))
		}
		start = time.Now()
		if got := r.Run(t.Context(), "patient", call); got.End != EndTimeout || time.Since(start) != DefaultToolTimeout {
			t.Errorf("patient: %+v after %s", got, time.Since(start))
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if got := r.Run(ctx, "slow", call); got.End != EndCancelled || got.Output != "so far" {
			t.Errorf("cancelled: %+v", got)
		}
		if got := r.Run(t.Context(), "crash", call); got.End != EndError || got.Code != "crash" || strings.Contains(got.Output, "boom") {
			t.Errorf("crash: %+v", got)
		}
		if text := log.String(); !strings.Contains(text, "boom") || !strings.Contains(text, "registry_test.go") || !strings.Contains(text, "tool=crash") {
			t.Errorf("the log has no stack: %s", text)
		}
		if got := r.Run(t.Context(), "bytes", call); got.Output != "a\uFFFDb\uFFFDc" {
			t.Errorf("bytes: %q", got.Output)
		}
		if got := r.Run(t.Context(), "huge", call); len(got.Output) > 300 || !utf8.ValidString(got.Output) || !strings.Contains(got.Output, "\n[truncated: 17") {
			t.Errorf("huge: %q", got.Output)
		}
		if got := r.Run(t.Context(), "foreign", call); got.Taint == Clean {
			t.Errorf("foreign: %+v", got)
		}
		if got := r.Run(t.Context(), "shy", call); got.Taint != Clean {
			t.Errorf("shy: %+v", got)
		}
		if got := r.Run(t.Context(), "slow", Call{Args: json.RawMessage("{}")}); got.End != EndRefused || got.Code != "bad_arguments" {
			t.Errorf("bad arguments: %+v", got)
		}
	})
}

func FuzzLimitText(f *testing.F) {
	f.Add("text", int64(2))
	f.Add(strings.Repeat("日\x00\xff", 100), int64(100))
	f.Fuzz(func(t *testing.T, text string, limit int64) {
		limit = limit%1000 + markRoom
		if limit < markRoom {
			limit = markRoom
		}
		got := limitText(text, limit)
		if int64(len(got)) > limit || !utf8.ValidString(got) || strings.Contains(got, "\x00") {
			t.Errorf("limit %d: %q", limit, got)
		}
		kept := newCollector(limit*10, nil)
		for chunk := text; chunk != ""; chunk = chunk[min(7, len(chunk)):] {
			_, _ = kept.Write([]byte(chunk[:min(7, len(chunk))]))
		}
		got = kept.text()
		if int64(len(got)) > limit*10 || !utf8.ValidString(got) || strings.Contains(got, "\x00") {
			t.Errorf("collector of %d: %q", limit*10, got)
		}
		if clean := cleanText(text); int64(len(clean)) < limit*10-4*markRoom && got != clean {
			t.Errorf("collector of %d changed %q to %q", limit*10, clean, got)
		}
	})
}

// What a person types need not name what may be null, and they read what is wanted.
func TestTypedArgumentsAreFilledAndExplained(t *testing.T) {
	t.Parallel()
	r, err := NewRegistry(Builtin(BuiltinConfig{})...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ tool, args, complete, fault string }{
		{"time", "", `{"zone":null}`, ""},
		{"time", `{"zone":"UTC"}`, `{"zone":"UTC"}`, ""},
		{"time", `{"zone":1}`, "", "want string or null, got 1"},
		{"time", `{"zone":"UTC","zone":"CET"}`, "", "stands there twice"},
		{"time", `[1]`, "", "want object, got an array"},
		{"time", `null`, "", "want object, got null"},
		{"time", `zone UTC`, "", "not valid JSON"},
		{"session.info", "", "{}", ""},
		{ExecName, `{"command":"ls"}`, `{"command":"ls"}`, ""},
		{ExecName, `{"command":""}`, "", "minLength"},
		{"nothing", "", "", `there is no tool "nothing"`},
	} {
		complete, takes, fault := r.Typed(c.tool, json.RawMessage(c.args))
		if c.fault == "" && (fault != nil || string(complete) != c.complete) ||
			c.fault != "" && (fault == nil || !strings.Contains(fault.Error(), c.fault)) {
			t.Errorf("%s %s: %s, %v", c.tool, c.args, complete, fault)
		}
		if c.tool == "time" && takes != "zone: string, may be left out – IANA time zone, e.g. Asia/Tokyo; null: the session's" {
			t.Errorf("takes %q", takes)
		}
	}
	if _, ok := r.Get(ExecName); ok {
		t.Error("commands are no tool of the registry")
	}
}
