package offline

import (
	"strings"
	"testing"
)

// What is said to be missing is all that is not shown, whoever cut it.
func TestOutputSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 99) + "\n"
	for _, test := range []struct{ name, text, file, want string }{
		{"nothing", strings.Repeat(line, 10), "outputs/a.txt", ""},
		{"cut here", strings.Repeat(line, 100), "", "2000 bytes more are not shown."},
		{"cut before too", strings.Repeat(line, 100) + "[truncated: 30000 bytes more]\n" + line, "outputs/a.txt", "32100 bytes more are not shown. The file `outputs/a.txt` has them: write \"send outputs/a.txt\"."},
		{"cut before", line + "[truncated: 30000 bytes more]\n" + line, "", "30100 bytes more are not shown."},
		{"a piece of a file", line + "[truncated: 500 bytes more]\n[go on with first_line 2, or use exec with cut for long lines]", "", " 500 bytes more are not shown."},
		{"a piece of an attachment", line + "[500 bytes more: go on with offset 100]", "", " 500 bytes more are not shown."},
	} {
		got := output(test.text, test.file)
		if !strings.HasSuffix(got, test.want) || test.want == "" && strings.Contains(got, "more") {
			t.Errorf("%s: …%s, want …%s", test.name, got[max(0, len(got)-200):], test.want)
		}
	}
}
