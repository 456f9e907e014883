package files

import (
	"bytes"
	"net/http"
	"path"
	"strings"
	"unicode"
)

// A head keeps the first bytes of what is written to it.
type head struct {
	most  int
	bytes []byte
}

const typeSize = 512 // as http.DetectContentType reads

func (h *head) Write(p []byte) (int, error) {
	h.bytes = append(h.bytes, p[:min(len(p), h.most-len(h.bytes))]...)
	return len(p), nil
}

// finer are the types that the beginning of a file leaves open: the name decides
// among those that the content allows, and never makes a text of what is none.
var finer = map[string]map[string]string{
	"text/plain": {
		".csv": "text/csv", ".tsv": "text/tab-separated-values", ".md": "text/markdown", ".json": "application/json",
		".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml", ".xml": "text/xml",
		".svg": "image/svg+xml", ".ics": "text/calendar", ".vcf": "text/vcard", ".eml": "message/rfc822",
	},
	"text/xml": {".svg": "image/svg+xml"},
	"application/zip": {
		".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
		".odt":  "application/vnd.oasis.opendocument.text", ".ods": "application/vnd.oasis.opendocument.spreadsheet",
		".odp": "application/vnd.oasis.opendocument.presentation", ".epub": "application/epub+zip",
	},
	"application/octet-stream": {
		".doc": "application/msword", ".xls": "application/vnd.ms-excel", ".ppt": "application/vnd.ms-powerpoint",
		".7z": "application/x-7z-compressed", ".tar": "application/x-tar", ".heic": "image/heic", ".flac": "audio/flac",
		".mov": "video/quicktime", ".m4a": "audio/mp4",
	},
}

// contentType is a file's media type by its first bytes, without parameters.
func contentType(name string, head []byte) string {
	found, _, _ := strings.Cut(http.DetectContentType(head), ";")
	if by := finer[found][extension(name)]; by != "" {
		return by
	}
	return found
}

// extension is that of a name, in lower case with its dot. Dots and blanks at the
// end, which some systems drop, do not hide it.
func extension(name string) string {
	return strings.ToLower(path.Ext(strings.TrimRight(fileName(name), ". ")))
}

// fileName is a name without folders and without what cannot be seen or turns the
// reading direction around.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(name, "\\", "/"))
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
}

// programs are how files begin that a system runs.
var programs = []struct{ begin, what string }{
	{"\x7fELF", "a program"},
	{"MZ", "a program"}, // and not text, see runnable
	{"\xfe\xed\xfa\xce", "a program"},
	{"\xfe\xed\xfa\xcf", "a program"},
	{"\xce\xfa\xed\xfe", "a program"},
	{"\xcf\xfa\xed\xfe", "a program"},
	{"\xca\xfe\xba\xbe", "a program"},
	{"dex\n", "a program"},
	{"L\x00\x00\x00\x01\x14\x02\x00", "a shortcut that runs something"},
	{"#!", "a script"},
	{"\xef\xbb\xbf#!", "a script"},
}

// runnableNames are the endings of names by which a system runs a file.
var runnableNames = strings.Fields(`.exe .dll .com .scr .cpl .msi .msp .msix .appx .bat .cmd .ps1 .psm1 .vbs .vbe .jse .wsf .wsh
	.hta .lnk .reg .jar .apk .xapk .ipa .app .dmg .pkg .deb .rpm .appimage .desktop .scpt .command .run .sh .bash .zsh .fish .csh .ksh`)

// runnable says why a file is held back as something that a system would run;
// empty: it is none.
func runnable(name string, head []byte) string {
	const rule = ", and those are not taken"
	for _, p := range programs {
		if bytes.HasPrefix(head, []byte(p.begin)) && (p.begin != "MZ" || bytes.IndexByte(head, 0) >= 0) {
			return "it is " + p.what + rule
		}
	}
	ext := extension(name)
	for _, known := range runnableNames {
		if ext == known {
			return "its name ends in " + ext + ", so it is a program or a script" + rule
		}
	}
	return ""
}
