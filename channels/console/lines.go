package console

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxLine is the longest line that is sent, in bytes. The router's own limit for
// a message is lower and answers politely; this one keeps a wrong file out of
// memory.
const maxLine = 8 << 20

// A line is one message from a pipe, or the reason why it is none.
type line struct {
	text    string
	refused error
}

// readLine reads one line of any length. io.EOF comes alone, after the last line.
func readLine(in *bufio.Reader) (line, error) {
	var text []byte
	long := false
	for {
		chunk, err := in.ReadSlice('\n')
		if long = long || len(text)+len(chunk) > maxLine; long {
			text = nil // read on to the line's end, and forget it
		} else {
			text = append(text, chunk...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return line{}, fmt.Errorf("read the input: %w", err)
		case errors.Is(err, io.EOF) && len(text) == 0 && !long:
			return line{}, io.EOF
		}
		text = bytes.TrimRight(text, "\r\n")
		switch {
		case long:
			return line{refused: fmt.Errorf("it is longer than %d MB", maxLine>>20)}, nil
		case !utf8.Valid(text):
			return line{refused: errors.New("it is not valid UTF-8")}, nil
		}
		return line{text: string(text)}, nil
	}
}
