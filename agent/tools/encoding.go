package tools

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An encoding is how a text is written down.
type encoding struct {
	bom  string
	unit int64 // bytes; a character has one or more
	// whole is how much of raw, which goes on, is whole characters.
	whole func(raw []byte) int
	text  func(raw []byte) string
}

var (
	inUTF8    = &encoding{bom: "\xef\xbb\xbf", unit: 1, whole: wholeUTF8, text: fromUTF8}
	inUTF16LE = &encoding{"\xff\xfe", 2, wholeUTF16(binary.LittleEndian), fromUTF16(binary.LittleEndian)}
	inUTF16BE = &encoding{"\xfe\xff", 2, wholeUTF16(binary.BigEndian), fromUTF16(binary.BigEndian)}
	// inLatin1 is windows-1252, as everything that says ISO 8859-1 is taken for.
	// Source: WHATWG Encoding Standard, "names and labels".
	inLatin1 = &encoding{unit: 1, whole: func(raw []byte) int { return len(raw) }, text: fromLatin1}
)

// encodingOf judges by the first bytes; nil: it is no text. Without a mark that
// says otherwise, a text that is no UTF-8 is taken for Latin-1.
func encodingOf(head []byte) *encoding {
	for _, e := range []*encoding{inUTF16LE, inUTF16BE} {
		if bytes.HasPrefix(head, []byte(e.bom)) && !bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")) {
			return e
		}
	}
	switch {
	case !strings.HasPrefix(http.DetectContentType(head), "text/"), bytes.IndexByte(head, 0) >= 0:
		return nil
	case !isBinary(head):
		return inUTF8
	}
	return inLatin1
}

// align moves an offset to the beginning of a unit.
func (e *encoding) align(offset int64) int64 { return offset - offset%e.unit }

// decode returns the text of raw; first says that the file begins with it.
func (e *encoding) decode(raw []byte, first bool) string {
	if first {
		raw = bytes.TrimPrefix(raw, []byte(e.bom))
	}
	return e.text(raw)
}

func wholeUTF8(raw []byte) int {
	for n := len(raw); n > 0 && n > len(raw)-utf8.UTFMax; n-- {
		if r, size := utf8.DecodeLastRune(raw[:n]); r != utf8.RuneError || size != 1 {
			return n
		}
	}
	return len(raw) // no UTF-8 here, whatever the beginning was
}

// fromUTF8 leaves out the rest of a character that an offset cut through.
func fromUTF8(raw []byte) string {
	for n := range min(len(raw), utf8.UTFMax) {
		if utf8.RuneStart(raw[n]) {
			return string(raw[n:])
		}
	}
	return string(raw)
}

func wholeUTF16(order binary.ByteOrder) func([]byte) int {
	return func(raw []byte) int {
		n := len(raw) - len(raw)%2
		if n > 2 && order.Uint16(raw[n-2:])&0xfc00 == 0xd800 { // the first half of a pair
			n -= 2
		}
		if n == 0 {
			return len(raw)
		}
		return n
	}
}

func fromUTF16(order binary.ByteOrder) func([]byte) string {
	return func(raw []byte) string {
		units := make([]uint16, len(raw)/2)
		for i := range units {
			units[i] = order.Uint16(raw[2*i:])
		}
		return string(utf16.Decode(units))
	}
}

// Where windows-1252 differs from ISO 8859-1; bytes 0x81 and the like, which mean
// nothing, stay control characters as in the standard.
// Source: https://encoding.spec.whatwg.org/index-windows-1252.txt
var windows1252 = [32]rune{
	'€', 0x81, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0x8d, 'Ž', 0x8f,
	0x90, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0x9d, 'ž', 'Ÿ',
}

func fromLatin1(raw []byte) string {
	var text strings.Builder
	text.Grow(len(raw) + len(raw)/8)
	for _, b := range raw {
		r := rune(b)
		if b >= 0x80 && b < 0xa0 {
			r = windows1252[b-0x80]
		}
		text.WriteRune(r)
	}
	return text.String()
}

// isBinary judges by the first bytes: a NUL, or no UTF-8 apart from a rune cut
// off at the end.
func isBinary(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	for range utf8.UTFMax {
		if utf8.Valid(head) {
			return false
		}
		if len(head) < binaryLookHead-utf8.UTFMax {
			return true
		}
		head = head[:len(head)-1]
	}
	return !utf8.Valid(head)
}
