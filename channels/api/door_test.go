package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A token that floods is slowed to its rate and then refused; another's calls are answered.
func TestATokenThatFloodsIsRefused(t *testing.T) {
	t.Parallel()
	h, _ := newTestAPI(t)
	call := func(token string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/whoami", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	var mu sync.Mutex
	got, hint := map[int]int{}, ""
	var flood sync.WaitGroup
	for range 3 * tokenBurst {
		flood.Go(func() {
			w := call("ada's")
			mu.Lock()
			defer mu.Unlock()
			if got[w.Code]++; w.Code == http.StatusTooManyRequests {
				hint = w.Header().Get("Retry-After")
			}
		})
	}
	flood.Wait()
	if got[http.StatusOK] < tokenBurst || got[http.StatusTooManyRequests] == 0 || hint == "" {
		t.Errorf("a flood is answered %v, to come again in %q s", got, hint)
	}
	if w := call("anybody's"); w.Code != http.StatusForbidden { // it has not the scope
		t.Errorf("another token is answered %d %s", w.Code, w.Body)
	}
}

// Large bodies wait for their place in memory, and then are refused; small ones do not.
func TestLargeBodiesWaitForAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, r := newTestAPI(t)
		for range largeAtOnce {
			r.api.large <- struct{}{}
		}
		large := `{"model":"none","user":"` + strings.Repeat("x", largeBody) + `"}`
		began := time.Now()
		w := ask(h, http.MethodPost, chatPath, "ada's", large)
		if took := time.Since(began); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || took != largeWait {
			t.Errorf("one too many is answered %d %s after %s", w.Code, w.Body, took)
		}
		if w := ask(h, http.MethodPost, chatPath, "ada's", `{"model":"none"}`); w.Code != http.StatusNotFound {
			t.Errorf("a small one is answered %d %s", w.Code, w.Body)
		}
		<-r.api.large
		for range 2 { // it gives its place back
			if w := ask(h, http.MethodPost, chatPath, "ada's", large); w.Code != http.StatusRequestEntityTooLarge { // files are small here
				t.Errorf("with a place it is answered %d %s", w.Code, w.Body)
			}
		}
	})
}
