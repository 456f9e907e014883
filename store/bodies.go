package store

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Bodies of model calls are kept compressed. Encoder and decoder are used
// through EncodeAll and DecodeAll only, which start nothing and may be called
// from several goroutines at once.
var (
	packer   = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)))
	unpacker = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(256<<20)))
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
	return packer.EncodeAll(b, make([]byte, 0, len(b)/3+64))
}

func unpack(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	out, err := unpacker.DecodeAll(b, nil)
	if err != nil {
		return nil, fmt.Errorf("stored body of a model call: %w", err)
	}
	return out, nil
}
