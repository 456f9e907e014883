package sandbox

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// The program may come to it seconds after the helper has gone: what is in the pipe by then
// is read, and nobody waits for who has it open still.
func TestWhatIsLeftInThePipe(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(w *os.File){
		"closed":  func(w *os.File) { w.Close() },
		"open":    func(*os.File) {},
		"endless": func(w *os.File) { go flood(w) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pipes, err := openPipes(1)
			if err != nil {
				t.Fatal(err)
			}
			r, w := pipes[0].r, pipes[0].w
			t.Cleanup(func() { closeAll(r, w) })
			if _, err := w.WriteString("the command's last words"); err != nil {
				t.Fatal(err)
			}
			after(w)
			if err := r.SetReadDeadline(time.Now().Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			drain(r, &out, 1<<30, make(chan struct{}))
			if !bytes.HasPrefix(out.Bytes(), []byte("the command's last words")) {
				t.Errorf("read %.40q", out.String())
			}
		})
	}
}

// flood writes until nobody reads.
func flood(w *os.File) {
	for {
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			return
		}
	}
}
