package turns

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"switchboard/agent"
	"switchboard/store/database"
)

// Requests of a role begin alike: its instructions, the tools, the schema of the
// answer. A dictionary holds what they had in common when it was made, so that
// only the rest of a request is compressed and kept, a twentieth of it. Each frame
// says which one it needs; so a dictionary never changes once it is released, and
// another gets a number of its own.
//
//go:embed dictionaries/1.txt
var dictionary1 []byte

//go:embed dictionaries/2.txt
var since1 []byte

// dictionary2 has what was added since dictionary 1 too.
var dictionary2 = slices.Concat(since1, dictionary1)

// dictionary3 has no pages of tools: few requests hold one. What most requests have stands last, where it is
// found with the shortest offsets.
//
//go:embed dictionaries/3.txt
var dictionary3 []byte

// Bodies of model calls are kept compressed. Encoder and decoder are used
// through EncodeAll and DecodeAll only, which start nothing and may be called
// from several goroutines at once. They are made when they are first needed: an
// idle program has no use for their tables.
var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		return must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(packWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderDictRaw(3, dictionary3)))
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		return must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(256<<20),
			zstd.WithDecoderDictRaw(1, dictionary1), zstd.WithDecoderDictRaw(2, dictionary2), zstd.WithDecoderDictRaw(3, dictionary3)))
	})
)

// packWindow is how far back a repetition is found; a request is rarely larger. The encoder keeps a buffer of
// its size and a block, which the heap grows fourfold for before it is collected.
const packWindow = 512 << 10

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

// Unpack reads what pack compressed.
func Unpack(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	out, err := unpacker().DecodeAll(b, nil)
	if err != nil {
		return nil, fmt.Errorf("stored body of a model call: %w", err)
	}
	return out, nil
}

// A body is what went over the wire of one call, compressed.
type body struct{ answer, request, response []byte }

func packCalls(calls []agent.Call) []body {
	bodies := make([]body, len(calls))
	for i, c := range calls {
		bodies[i] = body{pack([]byte(database.Clean(c.Answer))), pack(c.Exchange.Request), pack(c.Exchange.Response)}
	}
	return bodies
}

const BodiesLive = 7 * 24 * time.Hour // what a row says; [retention] prompts is counted from there
