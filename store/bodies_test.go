package store

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// A released dictionary never changes: what was compressed with it would be lost.
func TestDictionariesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256(dictionary1)
	if got := hex.EncodeToString(sum[:]); got != "b8eb163c269d182b28a4e083fb4389f965e566a9223387c0148b9734b7016dbc" {
		t.Errorf("dictionary 1 is %s", got)
	}
}

func TestBodiesComeBack(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 100<<10)
	_, _ = rand.Read(noise)
	request := append(bytes.Clone(dictionary1), "what only this one asks"...)
	for _, body := range [][]byte{nil, []byte("x"), []byte("\x28\xb5\x2f\xfd"), noise, request, bytes.Repeat([]byte("ab"), 1<<20)} {
		packed := pack(body)
		got, err := unpack(packed)
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes: %d came back, %v", len(body), len(got), err)
		}
	}
	if n := len(pack(request)); n > 500 {
		t.Errorf("what the dictionary holds takes %d bytes", n)
	}
	if _, err := unpack([]byte("no frame")); err == nil {
		t.Error("no error")
	}
}
