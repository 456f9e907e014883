package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// A key is what a person pressed, by name, or text that they typed.
type key struct {
	name string // empty: text was typed
	text string // also what was pasted, with the name paste
}

const (
	escape     = 0x1b
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// sequences names the keys that terminals send as control sequences, by what
// follows ESC [ or ESC O. Source: xterm, "Control Sequences", PC-style function keys.
var sequences = map[string]string{
	"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end",
	"1~": "home", "7~": "home", "4~": "end", "8~": "end", "3~": "delete",
	"1;5C": "word-right", "1;3C": "word-right", "1;5D": "word-left", "1;3D": "word-left", "3;5~": "delete-word",
}

// alternates names what follows a lone ESC, as the Alt key sends it.
var alternates = map[byte]string{
	'b': "word-left", 'f': "word-right", 'd': "delete-word", 0x7f: "ctrl-w", 0x08: "ctrl-w", '\r': "newline",
}

// decoder turns the bytes of a raw terminal into keys. Its zero value is ready.
type decoder struct {
	rest []byte // not a whole key yet, or not all of what is pasted
}

// feed takes bytes as they come and returns the keys that they complete.
func (d *decoder) feed(chunk []byte) []key {
	d.rest = append(d.rest, chunk...)
	var keys []key
	for len(d.rest) > 0 {
		k, n := next(d.rest)
		if n == 0 {
			break
		}
		d.rest = d.rest[n:]
		if k != (key{}) {
			keys = append(keys, k)
		}
	}
	return keys
}

// waiting says whether there is the beginning of a key, which may be all of it.
func (d *decoder) waiting() bool {
	return len(d.rest) > 0 && !bytes.HasPrefix(d.rest, []byte(pasteBegin))
}

// flush ends the wait for the rest of a key.
func (d *decoder) flush() []key {
	alone := len(d.rest) == 1 && d.rest[0] == escape
	d.rest = nil
	if alone {
		return []key{{name: "esc"}}
	}
	return nil
}

// next is the first key in b and how many bytes it takes; 0: it is not whole. An
// unknown key has no name and no text.
func next(b []byte) (key, int) {
	switch c := b[0]; {
	case bytes.HasPrefix(b, []byte(pasteBegin)):
		pasted, _, whole := bytes.Cut(b, []byte(pasteEnd))
		if !whole {
			return key{}, 0
		}
		text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(pasted[len(pasteBegin):]))
		return key{name: "paste", text: Printable(text)}, len(pasted) + len(pasteEnd)
	case c == escape:
		return sequence(b)
	case c == '\r' || c == '\n':
		return key{name: "enter"}, 1
	case c == '\t':
		return key{name: "tab"}, 1
	case c == 0x7f || c == 0x08:
		return key{name: "backspace"}, 1
	case c == 0 || c >= 0x1c && c < 0x20:
		return key{}, 1
	case c < 0x20:
		return key{name: "ctrl-" + string(rune('a'+c-1))}, 1
	}
	n := 0
	for n < len(b) && b[n] >= 0x20 && b[n] != 0x7f && utf8.FullRune(b[n:]) {
		_, size := utf8.DecodeRune(b[n:])
		n += size
	}
	return key{text: Printable(string(b[:n]))}, n
}

// sequence is next for what begins with ESC.
func sequence(b []byte) (key, int) {
	if len(b) == 1 {
		return key{}, 0
	}
	switch b[1] {
	case escape:
		return key{name: "esc"}, 1
	case '[', 'O':
		for i := 2; i < len(b); i++ {
			if c := b[i]; c >= 0x40 && c <= 0x7e {
				return key{name: sequences[string(b[2:i+1])]}, i + 1
			} else if c < 0x20 || c > 0x3f {
				return key{}, i // no sequence after all
			}
		}
		return key{}, 0
	}
	if !utf8.FullRune(b[1:]) {
		return key{}, 0
	}
	_, size := utf8.DecodeRune(b[1:])
	return key{name: alternates[b[1]]}, 1 + size
}

// typed is what was read from the keyboard.
type typed struct {
	keys []byte
	err  error
}

// read delivers what is typed, until ctx or the input ends. Of an input that is no
// device it can only give up between two reads.
func read(ctx context.Context, in io.Reader, inputs chan<- typed) {
	await, done, err := readable(ctx, in)
	if err != nil {
		give(ctx, inputs, typed{err: err})
		return
	}
	defer done()
	for await() {
		chunk := make([]byte, 4096)
		n, err := in.Read(chunk)
		if n > 0 && !give(ctx, inputs, typed{keys: chunk[:n]}) {
			return
		}
		switch {
		case err == nil:
		case errors.Is(err, syscall.EIO) && !InForeground(in): // it became another job's in between
		default:
			give(ctx, inputs, typed{err: err})
			return
		}
	}
}

// give hands what over to who reads next, until ctx ends: then it is false.
func give[T any](ctx context.Context, to chan<- T, what T) bool {
	select {
	case <-ctx.Done():
		return false
	case to <- what:
		return true
	}
}

// checkEvery is how often a job in the background checks whether it is still there.
const checkEvery = 200 * time.Millisecond

// descriptor is that of a stream, or -1, on which no call about terminals succeeds.
func descriptor(stream any) int {
	if device, ok := stream.(interface{ Fd() uintptr }); ok {
		return int(device.Fd())
	}
	return -1
}

// A tty is a terminal that single keys are read from, or an input that is none and taken as
// it is.
type tty struct {
	fd     int
	before *term.State // how it was found; nil: it is no terminal
}

// openTTY makes in give single keys, until restore is called.
func openTTY(in io.Reader) (*tty, error) {
	k := &tty{fd: descriptor(in)}
	if !term.IsTerminal(k.fd) {
		return k, nil
	}
	var err error
	if k.before, err = term.MakeRaw(k.fd); err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	return k, nil
}

func (k *tty) restore() {
	if k.before != nil {
		_ = term.Restore(k.fd, k.before)
	}
}
