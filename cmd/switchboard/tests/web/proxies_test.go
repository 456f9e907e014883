package web_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"switchboard/internal/testkit"
)

const proxied = "bot.example.org"

// Behind Caddy and nginx, set up as docs/http.md says, but for port and certificate, calls and streams go through at once.
func TestProxiesOfTheGuide(t *testing.T) {
	t.Parallel()
	for _, p := range []struct {
		program string
		config  func(snippet, port string) string
		args    func(file, dir string) []string
	}{
		{"caddy", func(snippet, port string) string {
			return "{\n\tadmin off\n\tauto_https off\n}\n" + strings.Replace(snippet, proxied+" {", "http://"+proxied+":"+port+" {", 1)
		}, func(file, _ string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} }},
		{"nginx", func(snippet, port string) string {
			snippet = regexp.MustCompile(`(?m)^ *ssl_.*\n`).ReplaceAllString(strings.Replace(snippet, "listen 443 ssl", "listen 127.0.0.1:"+port, 1), "")
			return "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n" +
				"client_body_temp_path a;\nproxy_temp_path b;\nfastcgi_temp_path c;\nuwsgi_temp_path d;\nscgi_temp_path e;\n" + snippet + "}\n"
		}, func(file, dir string) []string { return []string{"-e", "stderr", "-p", dir, "-c", file} }},
	} {
		t.Run(p.program, func(t *testing.T) {
			t.Parallel()
			path := needs(t, p.program)
			settings := strings.TrimPrefix(blocks(t, "http.md", "toml")[0], "[server]\n")
			r, web := serving(t, settings)
			at := testkit.FreeAddress(t)
			_, port, _ := strings.Cut(at, ":")
			dir := t.TempDir()
			file := filepath.Join(dir, "proxy.conf")
			config := p.config(blocks(t, "http.md", p.program)[0], port)
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(config, "127.0.0.1:8484", web("").Address)), 0o600); err != nil {
				t.Fatal(err)
			}
			log := &testkit.Log{}
			cmd := exec.Command(path, p.args(file, dir)...)
			cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, log, log, append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				if t.Failed() {
					t.Log(config, log)
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			through := func(method, path, body string) (*http.Response, error) {
				req, err := http.NewRequestWithContext(ctx, method, "http://"+at+path, strings.NewReader(body))
				if err != nil {
					return nil, err
				}
				req.Host = proxied
				req.Header.Set("Authorization", "Bearer "+map[string]string{http.MethodGet: "read", http.MethodPost: "messages"}[method])
				return http.DefaultClient.Do(req)
			}
			post := func(text string) {
				answer, err := through(http.MethodPost, "/v1/messages", fmt.Sprintf(`{"session":"s","user":"ann","content":%q}`, text))
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				if answer.StatusCode != http.StatusAccepted {
					t.Fatal(answer.Status)
				}
			}
			r.Await("the proxy answers", 10*time.Second, func() bool {
				answer, err := through(http.MethodGet, "/readyz", "")
				if err == nil {
					answer.Body.Close()
				}
				return err == nil && answer.StatusCode == http.StatusOK
			})
			post("hello")
			stream, err := through(http.MethodGet, "/v1/sessions/s/events?after=0", "")
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Body.Close()
			lines := bufio.NewScanner(stream.Body)
			follow := func(want string) { // the stream is open, so that a proxy that waits for more shows nothing
				for lines.Scan() {
					if strings.HasPrefix(lines.Text(), "data: ") && strings.Contains(lines.Text(), want) {
						return
					}
				}
				t.Fatalf("the stream ended before %s: %v", want, lines.Err())
			}
			follow(`"outcome":"answered"`)
			post("what time is it?")
			follow(`"text":"It is `)
		})
	}
}
