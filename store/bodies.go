package store

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Requests of a role begin alike: its instructions, the tools, the schema of the
// answer. A dictionary holds what they had in common when it was made, so that
// only the rest of a request is compressed and kept, a twentieth of it. Each frame
// says which one it needs; so a dictionary never changes once it is released, and
// another gets a number of its own.
//
//go:embed dictionaries/1.txt
var dictionary1 []byte

// Bodies of model calls are kept compressed. Encoder and decoder are used
// through EncodeAll and DecodeAll only, which start nothing and may be called
// from several goroutines at once. They are made when they are first needed: an
// idle program has no use for their tables.
var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		return must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderDictRaw(1, dictionary1)))
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		return must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(256<<20),
			zstd.WithDecoderDictRaw(1, dictionary1)))
	})
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // options of ours that do not fit together
	}
	return v
}

// pack compresses; nothing becomes NULL.
func pack(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return packer().EncodeAll(b, make([]byte, 0, len(b)/8+64))
}

func unpack(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	out, err := unpacker().DecodeAll(b, nil)
	if err != nil {
		return nil, fmt.Errorf("stored body of a model call: %w", err)
	}
	return out, nil
}
