package tools

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"switchboard/internal/secrets"
)

func TestSecretsAreGivenToToolsThatDeclareThem(t *testing.T) {
	t.Parallel()
	const value = secrets.Secret("canary-of-the-tool")
	got := map[string]map[string]secrets.Secret{}
	run := func(name string) func(context.Context, Call) Result {
		return func(_ context.Context, call Call) Result {
			got[name] = call.Secrets
			v := call.Secrets["token"].Reveal()
			return Result{End: EndOK, Output: v + " " + base64.StdEncoding.EncodeToString([]byte(v)), Hint: hex.EncodeToString([]byte(v))}
		}
	}
	declares, missing := sample("declares", run("declares")), sample("missing", run("missing"))
	declares.Secrets, missing.Secrets = []string{"token"}, []string{"other"}
	r := registry(t, declares, missing, sample("plain", run("plain")))
	if res := r.Run(t.Context(), "declares", Call{Args: []byte(goodArgs)}); res.Code != "no_secret" {
		t.Errorf("with no store: %+v", res)
	}
	r.Mask = secrets.NewMasker()
	r.Secret = func(_ context.Context, tool, name string) (secrets.Secret, error) {
		if tool == "declares" && name == "token" {
			return value, nil
		}
		return "", errors.New("an admin has to allow it")
	}
	for _, name := range []string{"declares", "plain"} {
		if res := r.Run(t.Context(), name, Call{Args: []byte(goodArgs)}); res.End != EndOK || strings.Contains(res.Output+res.Hint, value.Reveal()[:6]) {
			t.Errorf("%s: %+v", name, res)
		} else if name == "declares" && (res.Output != "[redacted] [redacted]" || res.Hint != "[redacted]") {
			t.Errorf("printed: %+v", res)
		}
	}
	res := r.Run(t.Context(), "missing", Call{Args: []byte(goodArgs)})
	if res.End != EndRefused || res.Code != "no_secret" || !strings.Contains(res.Output, "missing needs the secret other: an admin has to allow it") {
		t.Errorf("%+v", res)
	}
	if len(got) != 2 || len(got["declares"]) != 1 || got["declares"]["token"] != value || len(got["plain"]) != 0 {
		t.Errorf("given: %v", got)
	}
}

func TestWhatCommandsPrintIsMaskedBeforeItIsCut(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	const value = "canary-of-the-shell-4711"
	e := shell(ExecConfig{Mask: secrets.NewMasker(value), OutputLimit: 4 << 10})
	for _, line := range []string{
		"printf 'it is canary-of-the'; sleep 0.1; printf '%s' '-shell-4711'; printf ' or '; printf %s " + value + " | base64; printf %s " + value + " | od -An -tx1 | tr -d ' \\n'",
		"i=0; while [ $i -lt 400 ]; do printf '%s-%03d ' " + value + " $i; i=$((i+1)); done",
	} {
		res := e.Run(t.Context(), Command{Line: line, Workspace: newWorkspace(t)})
		if res.End != EndOK || !strings.Contains(res.Output, "[redacted]") {
			t.Errorf("%+v", res)
		}
		for _, part := range []string{"canary", "shell", "4711", "Y2FuYXJ5", "63616e617279"} {
			if strings.Contains(res.Output, part) {
				t.Errorf("%q is left of %s", part, res.Output)
			}
		}
	}
}
