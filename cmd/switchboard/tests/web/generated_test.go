//go:build linux && clients

package web_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// generator makes a client of an OpenAPI document.
const generator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"

// generatedMain posts a message with it.
const generatedMain = `package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
)

func main() {
	token := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Args[2])
		return nil
	}
	client, err := NewClientWithResponses("http://"+os.Args[1], WithRequestEditorFn(token))
	if err != nil {
		panic(err)
	}
	got, err := client.PostMessageWithResponse(context.Background(), nil, PostMessageJSONRequestBody{Session: "s", User: "ada", Content: "hello"})
	if err != nil {
		panic(err)
	}
	fmt.Print(got.StatusCode(), " ", got.JSON202.Session)
}
`

// A client that is made of the OpenAPI document compiles and posts a message.
func TestGeneratedClient(t *testing.T) {
	rig := programtest.NewRig(t, nil, programtest.Token("ci", []string{"messages", "read"})+
		"[[people]]\nname = \"ada\"\nrole = \"user\"\nidentities = [\"scripted:ada\"]\ntools = []\n[server]\nlisten = \""+testkit.FreeAddress(t)+"\"\n")
	rig.Up()
	defer rig.Stop(20 * time.Second)
	w := rig.Web("ci")
	_, document, err := w.Do(t.Context(), http.MethodGet, "/v1/openapi.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	testkit.Write(t, filepath.Join(dir, "api.json"), string(document))
	testkit.Write(t, filepath.Join(dir, "main.go"), generatedMain)
	run := func(args ...string) string {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("mod", "init", "generated")
	run("run", generator, "-generate", "types,client", "-package", "main", "-o", "client.go", "api.json")
	run("mod", "tidy")
	if out := run("run", ".", w.Address, w.Token); !strings.HasSuffix(out, "202 s") {
		t.Errorf("it says %s", out)
	}
}
