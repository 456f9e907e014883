package api

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClientSaysWhatWasAnswered(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		Reply(w, http.StatusAccepted, map[string]string{"body": string(body), "key": r.Header.Get(KeyHeader)})
	})
	mux.HandleFunc("GET /v1/refused", func(w http.ResponseWriter, _ *http.Request) {
		Refuse(w, Failed(http.StatusNotFound, "", "there is none"))
	})
	mux.HandleFunc("GET /v1/garbled", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	client := InProcess(mux)

	var got map[string]string
	if err := client.Do(t.Context(), Call{Method: "POST", Path: "/v1/echo", Body: []int{1}, Key: "k"}, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"body": "[1]", "key": "k"}, got); diff != "" {
		t.Error(diff)
	}
	for path, want := range map[string]Error{
		"/v1/refused": {Status: 404, Code: "not_found", Message: "there is none"},
		"/v1/garbled": {Status: 503, Message: "Service Unavailable"},
		"/v1/nothing": {Status: 404, Message: "Not Found"},
	} {
		err := client.Do(t.Context(), Call{Method: "GET", Path: path}, nil)
		if got, ok := errors.AsType[*Error](err); !ok || *got != want {
			t.Errorf("%s: %#v, want %v", path, err, want)
		}
	}
}

func TestErrorsAreInOneForm(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Failure{&Error{Status: 404, Code: "not_found", Message: "there is none"}})
	if want := `{"error":{"code":"not_found","message":"there is none"}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
