package turns

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// A released dictionary never changes: what was compressed with it would be lost.
func TestDictionariesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for want, dictionary := range map[string][]byte{
		"b9efeefcd21f835c43fa000596c5c80b90eaf75272fd15d696a40070c03e33e2": dictionary1,
		"0e8033f97e56987fdb91bc1c0281175a627348944b44f15fdc344bc235c0d45a": dictionary2,
		"5f0bbc1672f92e2b6abda2511abfffdc24355cd07033962a99f782b21101042d": dictionary3,
	} {
		sum := sha256.Sum256(dictionary)
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("dictionary %s is %s", want, got)
		}
	}
	for id, before := range [][]byte{dictionary1, dictionary2} {
		was := must(zstd.NewWriter(nil, zstd.WithEncoderDictRaw(uint32(id+1), before)))
		if got, err := Unpack(was.EncodeAll([]byte("packed by a build before"), nil)); err != nil || string(got) != "packed by a build before" {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// What the roles of turns are told and every planner reads of tools stands in the dictionary, as a request
// has it; a request grows with what does not. One that differs gets another number.
func TestDictionaryHoldsWhatIsAskedToday(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"../../agent/roles/planner.md", "../../agent/roles/reviewer.md", "../../agent/roles/worker.md", "../../agent/tools/pages/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				line, note := strings.CutPrefix(strings.TrimSpace(line), "note: ")
				if !note && strings.Contains(file, "pages") {
					continue
				}
				escaped, err := json.Marshal(line)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Contains(dictionary3, bytes.Trim(escaped, `"`)) {
					t.Errorf("%s: the dictionary does not have %s", file, escaped)
				}
			}
		}
	}
}

func TestBodiesComeBack(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 100<<10)
	_, _ = rand.Read(noise)
	request := append(bytes.Clone(dictionary3), "what only this one asks"...)
	for _, body := range [][]byte{nil, []byte("x"), []byte("\x28\xb5\x2f\xfd"), noise, request, bytes.Repeat([]byte("ab"), 1<<20)} {
		packed := pack(body)
		got, err := Unpack(packed)
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes: %d came back, %v", len(body), len(got), err)
		}
	}
	if n := len(pack(request)); n > 500 {
		t.Errorf("what the dictionary holds takes %d bytes", n)
	}
	if _, err := Unpack([]byte("no frame")); err == nil {
		t.Error("no error")
	}
}
