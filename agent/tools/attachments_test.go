package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf16"

	"switchboard/agent/tools/workspace"
)

// drawer is a session's attachments in memory.
type drawer struct {
	files     map[string]File
	bytes     map[string]string
	fault     error
	published []string
	taints    []Taint
}

func (d *drawer) Open(_ context.Context, session Session, id string) (File, io.ReadCloser, error) {
	file, ok := d.files[session.ID+" "+id]
	switch {
	case d.fault != nil:
		return File{}, nil, d.fault
	case !ok:
		return File{}, nil, ErrNoFile
	}
	return file, io.NopCloser(strings.NewReader(d.bytes[id])), nil
}

func (d *drawer) Publish(_ context.Context, session Session, name string, taint Taint, r io.Reader) (File, error) {
	if d.fault != nil {
		return File{}, d.fault
	}
	text, err := io.ReadAll(r)
	d.published = append(d.published, session.ID+" "+name+": "+string(text))
	d.taints = append(d.taints, taint)
	return File{ID: "77", Name: name, Type: "text/plain", Size: int64(len(text)), Taint: taint}, err
}

// put makes an attachment with the id 1.
func (d *drawer) put(name, mediaType, content string) {
	d.files = map[string]File{"play:home 1": {ID: "1", Name: name, Type: mediaType, Size: int64(len(content))}}
	d.bytes = map[string]string{"1": content}
}

func newDrawer(t *testing.T) (*drawer, func(tool, args string) Result, string) {
	t.Helper()
	d := &drawer{}
	registry, err := NewRegistry(Builtin(BuiltinConfig{Files: d, Space: &workspace.Space{Bytes: 1 << 20}, FileLimit: 100})...)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "space")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return d, func(tool, args string) Result {
		t.Helper()
		return registry.Run(context.Background(), tool, Call{Args: []byte(args), Workspace: dir, Session: Session{ID: "play:home"}})
	}, dir
}

func TestNoAttachmentToolsWithoutFiles(t *testing.T) {
	t.Parallel()
	for _, tool := range Builtin(BuiltinConfig{}) {
		if strings.HasPrefix(tool.Name, "attachment.") || tool.Name == "workspace.publish" {
			t.Errorf("%s is there", tool.Name)
		}
	}
}

func utf16Text(text string, little bool) string {
	out := []byte{0xfe, 0xff}
	for _, u := range utf16.Encode([]rune(text)) {
		out = append(out, byte(u>>8), byte(u))
	}
	if little {
		for i := 0; i < len(out); i += 2 {
			out[i], out[i+1] = out[i+1], out[i]
		}
	}
	return string(out)
}

func TestAttachmentIsReadInAnyEncoding(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ content, want string }{
		"UTF-8":           {"grüße 👍\nzwei", "grüße 👍\nzwei"},
		"UTF-8, marked":   {"\xef\xbb\xbfgrüße", "grüße"},
		"UTF-16LE":        {utf16Text("grüße 👍", true), "grüße 👍"},
		"UTF-16BE":        {utf16Text("grüße 👍", false), "grüße 👍"},
		"UTF-16, odd end": {utf16Text("ab", true) + "x", "ab"},
		"Latin-1":         {"gr\xfc\xdfe \x80\x93\x94", "grüße €“”"},
		"empty":           {"", ""},
		"HTML":            {"<html>\n<b>x</b>", "<html>\n<b>x</b>"},
		"colours":         {"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"},
	} {
		d, run, _ := newDrawer(t)
		d.put("a.txt", "text/plain", tc.content)
		res := run("attachment.read", `{"id":"1","offset":null,"limit":null}`)
		if res.End != EndOK || res.Output != tc.want || res.Taint != "file" {
			t.Errorf("%s: %+v, want %q", name, res, tc.want)
		}
	}
}

func TestLongAttachmentIsReadWholeInPieces(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("añ👍€ and so on, ", 9000) // no line breaks: the mark is on a line of its own
	for name, content := range map[string]string{
		"UTF-8": text, "UTF-16LE": utf16Text(text, true), "UTF-16BE": utf16Text(text, false),
		"Latin-1": strings.Repeat("gr\xfc\xdfe ", 20000),
	} {
		d, run, _ := newDrawer(t)
		d.put("a.txt", "text/plain", content)
		want := text
		if name == "Latin-1" {
			want = strings.Repeat("grüße ", 20000)
		}
		for _, limit := range []string{"null", "65533", "16381"} {
			got, offset, calls := "", 0, 0
			for offset >= 0 {
				res := run("attachment.read", fmt.Sprintf(`{"id":"1","offset":%d,"limit":%s}`, offset, limit))
				if res.End != EndOK || calls > 100 {
					t.Fatalf("%s: %+v", name, res)
				}
				calls++
				piece := res.Output
				offset = -1
				if at := strings.LastIndex(piece, "["); strings.HasSuffix(piece, "]") {
					var left int
					if _, err := fmt.Sscanf(piece[at:], "[%d bytes more: go on with offset %d]", &left, &offset); err != nil {
						t.Fatalf("%s: the mark is %q", name, piece[at:])
					}
					if left+offset != len(content) {
						t.Errorf("%s: %d left after %d of %d", name, left, offset, len(content))
					}
					piece = strings.TrimSuffix(piece[:at], "\n")
				}
				got += piece
			}
			if got != want {
				t.Errorf("%s by %s: %d pieces join to %d bytes, want %d", name, limit, calls, len(got), len(want))
			}
		}
		res := run("attachment.read", `{"id":"1","offset":99999999,"limit":null}`)
		if res.End != EndOK || !strings.Contains(res.Output, "ends before offset") {
			t.Errorf("beyond the end: %+v", res)
		}
	}
}

func TestAttachmentThatIsNoTextSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ mediaType, content, want string }{
		"a.pdf":  {"application/pdf", "%PDF-1.7\nall of it text", "a PDF document"},
		"a.png":  {"image/png", "\x89PNG\r\n\x1a\n\x00", "an image"},
		"a.ogg":  {"audio/ogg", "OggS\x00", "cannot be listened to"},
		"a.mp4":  {"video/mp4", "\x00\x00\x00\x18ftypmp42", "a video"},
		"a.docx": {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "PK\x03\x04\x00", "an office document"},
		"a.zip":  {"application/zip", "PK\x03\x04\x00", "an archive"},
		"a.bin":  {"application/octet-stream", "\x01\x02\x03", "not a text"},
		"a.txt":  {"text/plain", "text, then " + strings.Repeat("x", 600) + "\x00", "not a text"},
		"u32":    {"text/plain", "\xff\xfe\x00\x00a\x00\x00\x00", "not a text"},
	} {
		d, run, _ := newDrawer(t)
		d.put(name, tc.mediaType, tc.content)
		res := run("attachment.read", `{"id":"1","offset":null,"limit":null}`)
		if res.End != EndRefused || res.Code != "not_text" || !strings.Contains(res.Output, tc.want) || res.Taint != "file" {
			t.Errorf("%s: %+v, want %q", name, res, tc.want)
		}
	}
}

func TestAttachmentFaultsHaveTheirCodes(t *testing.T) {
	t.Parallel()
	for fault, want := range map[error]string{
		ErrNoFile: "no_attachment", fmt.Errorf("%w: it is a program", ErrFileRefused): "file_refused",
		fmt.Errorf("%w", ErrFileGone): "file_gone", errors.New("dial tcp 10.0.0.1: token=SECRET"): "unavailable",
	} {
		d, run, workspace := newDrawer(t)
		d.fault = fault
		if err := os.WriteFile(filepath.Join(workspace, "a"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		for tool, args := range map[string]string{
			"attachment.read":   `{"id":"1","offset":null,"limit":null}`,
			"attachment.save":   `{"id":"1","path":"b","mode":"create"}`,
			"workspace.publish": `{"path":"a"}`,
		} {
			res := run(tool, args)
			if res.End == EndOK || res.Code != want || res.Hint == "" || strings.Contains(res.Output+res.Hint, "SECRET") {
				t.Errorf("%s, %v: %+v, want %s", tool, fault, res, want)
			}
			if want == "file_refused" && !strings.Contains(res.Output, "it is a program") {
				t.Errorf("%s does not say why: %+v", tool, res)
			}
		}
		if _, err := os.Lstat(filepath.Join(workspace, "b")); err == nil {
			t.Error("something was saved")
		}
	}
	d, run, _ := newDrawer(t)
	d.put("a", "text/plain", "x")
	for _, args := range []string{`{"id":1,"offset":null,"limit":null}`, `{"id":"1","offset":-1,"limit":null}`, `{"id":"1","offset":null,"limit":99999999}`} {
		if res := run("attachment.read", args); res.Code != "bad_arguments" {
			t.Errorf("%s: %+v", args, res)
		}
	}
}

func TestSavedAttachmentIsPublishedWithItsTaint(t *testing.T) {
	t.Parallel()
	d, run, workspace := newDrawer(t)
	big := strings.Repeat("binary\x00", 50_000) // beyond what workspace.write handles
	d.put("x.bin", "application/octet-stream", big)
	res := run("attachment.save", `{"id":"1","path":"in/x.bin","mode":"create"}`)
	if res.End != EndOK || res.Taint != "file" || !strings.Contains(res.Output, "saved in/x.bin: 350000 bytes") {
		t.Fatalf("saved: %+v", res)
	}
	if got, err := os.ReadFile(filepath.Join(workspace, "in", "x.bin")); err != nil || string(got) != big {
		t.Errorf("the workspace has %d bytes, %v", len(got), err)
	}
	if got := readLedger(workspace).of("in/x.bin"); got != "file" {
		t.Errorf("the ledger says %q", got)
	}
	if res := run("attachment.save", `{"id":"1","path":"in/x.bin","mode":"create"}`); res.Code != "exists" {
		t.Errorf("saved over: %+v", res)
	}
	if res := run("attachment.save", `{"id":"1","path":"in/x.bin","mode":"replace"}`); res.End != EndOK {
		t.Errorf("replaced: %+v", res)
	}
	// What came in goes out with its taint, what is ours without.
	if err := os.WriteFile(filepath.Join(workspace, "a [1].txt"), []byte("ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	if res := run("workspace.publish", `{"path":"in/x.bin"}`); res.End != EndOK || res.Taint != "file" {
		t.Errorf("published: %+v", res)
	}
	res = run("workspace.publish", `{"path":"./a [1].txt"}`)
	if res.End != EndOK || res.Taint != Clean || !strings.Contains(res.Output, `[a \[1\].txt](attachment:77)`) {
		t.Errorf("published: %+v", res)
	}
	if err := os.WriteFile(filepath.Join(workspace, "empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if res := run("workspace.publish", `{"path":"empty"}`); res.Code != "empty_file" || res.Hint == "" {
		t.Errorf("published: %+v", res)
	}
	if len(d.published) != 2 || d.published[1] != "play:home a [1].txt: ours" || d.taints[0] != "file" || d.taints[1] != Clean {
		t.Errorf("published %.40q, taints %q", d.published, d.taints)
	}
	d.put("huge", "application/octet-stream", strings.Repeat("x", 1<<20))
	if res := run("attachment.save", `{"id":"1","path":"huge","mode":"create"}`); res.Code != "workspace_full" {
		t.Errorf("no room: %+v", res)
	}
}

func TestPublishOnlyWhatIsInside(t *testing.T) {
	t.Parallel()
	d, run, dir := newDrawer(t)
	outside := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(
		os.WriteFile(outside, []byte("secret"), 0o600),
		os.Symlink(outside, filepath.Join(dir, "link")),
		os.Symlink(filepath.Dir(outside), filepath.Join(dir, "folder")),
		os.Mkdir(filepath.Join(dir, "dir"), 0o700),
		os.MkdirAll(filepath.Join(dir, workspace.Hidden), 0o700),
		os.WriteFile(filepath.Join(dir, workspace.Hidden, "outputs.json"), nil, 0o600),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	d.put("a", "text/plain", "x")
	for path, code := range map[string]string{
		outside: "outside_workspace", "../secret": "outside_workspace", "link": "symlink", "folder/secret": "symlink",
		"dir": "not_a_file", "pipe": "not_a_file", ".": "not_a_file", "none": "not_found", workspace.Hidden + "/outputs.json": "bad_path", "": "bad_path",
	} {
		if res := run("workspace.publish", fmt.Sprintf(`{"path":%q}`, path)); res.Code != code {
			t.Errorf("published %q: %+v, want %s", path, res, code)
		}
	}
	if len(d.published) > 0 {
		t.Errorf("published %q", d.published)
	}
	for path, code := range map[string]string{
		"../x": "outside_workspace", "link": "symlink", "folder/x": "symlink", "dir": "not_a_file", "pipe": "not_a_file", ".": "bad_path", workspace.Hidden + "/x": "bad_path",
	} {
		if res := run("attachment.save", fmt.Sprintf(`{"id":"1","path":%q,"mode":"replace"}`, path)); res.Code != code {
			t.Errorf("saved to %q: %+v, want %s", path, res, code)
		}
	}
	if got, _ := os.ReadFile(outside); string(got) != "secret" {
		t.Errorf("the file outside is now %q", got)
	}
}

// FuzzReadPiece reads any bytes in pieces: no panic, valid offsets, an end.
func FuzzReadPiece(f *testing.F) {
	for _, seed := range []string{"", "text", "\xff\xfea\x00", "\xfe\xff\xd8\x3d\xdc\x4d", "gr\xfc\xdfe", "añ👍€"} {
		f.Add([]byte(seed), 16)
	}
	f.Fuzz(func(t *testing.T, content []byte, limit int) {
		limit = 16 + (limit%1000+1000)%1000
		file := File{ID: "1", Size: int64(len(content))}
		offset := int64(0)
		for range len(content) + 2 {
			res := readPiece(file, bytes.NewReader(content), offset, limit)
			if res.End != EndOK {
				return
			}
			at := strings.LastIndex(res.Output, "[")
			var left, next int64
			if at < 0 {
				return
			}
			if _, err := fmt.Sscanf(res.Output[at:], "[%d bytes more: go on with offset %d]", &left, &next); err != nil || left+next != file.Size {
				return // the text's own bracket
			}
			if next <= offset {
				t.Fatalf("from %d on to %d", offset, next)
			}
			offset = next
		}
		t.Fatal("no end")
	})
}
