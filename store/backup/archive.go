// Package backup writes the whole ledger with the bytes of its attachments into one file, and
// fills an empty database from it, whichever of the two databases either is.
//
// The file is a line that names its format, a zstd stream of entries, and the SHA-256 of all
// bytes before it. An entry is a letter, the length of what follows as a uvarint, and that:
// the head, perhaps the key of the secrets, tables with their rows in order, attachments, and
// at last the manifest, which says how many rows each table has and what they hash to.
package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// The first line of a file, but for the number of the format.
const (
	formatLine = "switchboard backup "
	format     = "1"
)

// The letters of the entries.
const (
	entryHead     = 'H' // JSON
	entryKey      = 'K'
	entryTable    = 'T' // JSON
	entryRow      = 'R'
	entryFile     = 'F' // its name, which is the hash of its bytes, then those
	entryManifest = 'M' // JSON
)

// A head says what an archive is.
type head struct {
	Schema    int64            `json:"schema"`
	Build     string           `json:"build"`
	Database  string           `json:"database"`
	At        time.Time        `json:"at"`
	Sequences map[string]int64 `json:"sequences"` // the last number given out, by table
	Key       bool             `json:"key"`       // the key of the secrets follows
}

type tableHead struct {
	Name    string   `json:"name"`
	Columns []column `json:"columns"`
}

// A Table says how many rows an archive has of a table, and the SHA-256 over them, in hex.
type Table struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
	Hash string `json:"hash"`
}

// A Manifest is what an archive holds.
type Manifest struct {
	Tables  []Table  `json:"tables"`
	Files   int      `json:"files"`
	Bytes   int64    `json:"bytes"`   // of files
	Missing []string `json:"missing"` // files that rows name and the data folder had not, whole
	// Already (Restore) says that all of it was there, as a restore leaves it that is cut off once
	// it is committed.
	Already bool `json:"already,omitempty"`
}

// Rows counts those of all tables.
func (m *Manifest) Rows() (n int64) {
	for _, t := range m.Tables {
		n += t.Rows
	}
	return n
}

// Count is how many rows a table has.
func (m *Manifest) Count(table string) int {
	for _, t := range m.Tables {
		if t.Name == table {
			return int(t.Rows)
		}
	}
	return 0
}

// A rowHash counts and hashes the rows of a table.
type rowHash struct {
	name string
	rows int64
	sum  hash.Hash
}

func newRowHash(name string) *rowHash { return &rowHash{name: name, sum: sha256.New()} }

func (h *rowHash) add(row []byte) {
	h.rows++
	h.sum.Write(binary.AppendUvarint(nil, uint64(len(row))))
	h.sum.Write(row)
}

func (h *rowHash) table() Table { return Table{h.name, h.rows, hex.EncodeToString(h.sum.Sum(nil))} }

// An archive that is written.
type writer struct {
	to  io.Writer
	sum hash.Hash // of all that was written
	z   *zstd.Encoder
}

func newWriter(to io.Writer) (*writer, error) {
	w := &writer{to: to, sum: sha256.New()}
	all := io.MultiWriter(to, w.sum)
	if _, err := io.WriteString(all, formatLine+format+"\n"); err != nil {
		return nil, err
	}
	var err error
	w.z, err = zstd.NewWriter(all)
	return w, err
}

// begin begins an entry of that many bytes.
func (w *writer) begin(letter byte, size int64) error {
	_, err := w.z.Write(binary.AppendUvarint([]byte{letter}, uint64(size)))
	return err
}

func (w *writer) entry(letter byte, body []byte) error {
	err := w.begin(letter, int64(len(body)))
	if err == nil {
		_, err = w.z.Write(body)
	}
	return err
}

func (w *writer) json(letter byte, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.entry(letter, body)
}

// close ends the stream and writes the hash.
func (w *writer) close() error {
	if err := w.z.Close(); err != nil {
		return err
	}
	_, err := w.to.Write(w.sum.Sum(nil))
	return err
}

// ErrDamaged is returned by Restore for a file that is not as it was written. Nothing was
// restored. The error's text says what to do.
var ErrDamaged = errors.New("the file is no backup, or is not as it was written: something of it was changed or is missing; take another copy of it, or another backup")

// ErrNewer is returned by Restore for a backup that this build is too old for.
var ErrNewer = errors.New("the backup was made by a newer build; restore it with that one")

// An archive that is read.
type reader struct {
	z    *zstd.Decoder
	in   *bufio.Reader
	left int64 // of the entry
	row  []byte
}

// open reads the whole file before anything of it is believed: a changed byte may leave a
// stream that can be unpacked.
func open(file *os.File) (*reader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	sum, size := sha256.New(), info.Size()-sha256.Size
	if !info.Mode().IsRegular() || size <= 0 {
		return nil, ErrDamaged
	}
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, size)); err != nil {
		return nil, err
	}
	trailer := make([]byte, sha256.Size)
	if _, err := file.ReadAt(trailer, size); err != nil {
		return nil, err
	}
	if !bytes.Equal(trailer, sum.Sum(nil)) {
		return nil, ErrDamaged
	}
	in := bufio.NewReader(io.NewSectionReader(file, 0, size))
	line, err := in.ReadString('\n')
	switch got, ours := strings.CutPrefix(strings.TrimSuffix(line, "\n"), formatLine); {
	case err != nil || !ours:
		return nil, ErrDamaged
	case got != format:
		return nil, fmt.Errorf("%w (its format is %q, this build reads %s)", ErrNewer, got, format)
	}
	r := &reader{}
	if r.z, err = zstd.NewReader(in); err != nil {
		return nil, err
	}
	r.in = bufio.NewReaderSize(r.z, 64<<10)
	return r, nil
}

func (r *reader) close() { r.z.Close() }

// next goes to the next entry; io.EOF: there is none.
func (r *reader) next() (letter byte, err error) {
	if r.left > 0 {
		return 0, errGarbled
	}
	if letter, err = r.in.ReadByte(); err != nil {
		return 0, err
	}
	n, err := binary.ReadUvarint(r.in)
	if err != nil || n > 1<<50 {
		return 0, errGarbled
	}
	r.left = int64(n)
	return letter, nil
}

// body is the entry, which holds until the next is read.
func (r *reader) body() ([]byte, error) {
	if r.left > 1<<30 {
		return nil, errGarbled
	}
	if int64(cap(r.row)) < r.left {
		r.row = make([]byte, r.left)
	}
	r.row = r.row[:r.left]
	_, err := io.ReadFull(r, r.row)
	return r.row, err
}

// Read reads the entry.
func (r *reader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.in.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// json reads an entry that has to be of that letter.
func (r *reader) json(letter byte, v any) error {
	got, err := r.next()
	if err != nil || got != letter {
		return errGarbled
	}
	return r.decode(v)
}

func (r *reader) decode(v any) error {
	body, err := r.body()
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	return err
}
