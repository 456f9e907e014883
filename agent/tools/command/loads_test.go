package command

import (
	"slices"
	"testing"
)

// What a line does that runs no program but those of the list depends on its words alone.
func TestLinesThatMayLoadFiles(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{ // what is among its names; "-": it loads nothing
		"sh job.sh":                        "job.sh",
		"bash -x ./job.sh":                 "./job.sh",
		"sh < job.sh":                      "job.sh",
		"cat job.sh | sh":                  "job.sh",
		". ./env":                          "./env",
		"source env && ls":                 "env",
		"./run":                            "./run",
		"sub/run x":                        "sub/run",
		"python3 x.py":                     "x.py",
		"PYTHONPATH=lib python3 -m x":      "x",
		"PATH=.:$PATH ls":                  "",
		"python3 -c 'import x'":            "",
		"make":                             "",
		"make -fother.mk":                  "other.mk",
		"make --file=other.mk":             "other.mk",
		"npm run build":                    "",
		"go run .":                         "",
		"git status":                       "",
		"cargo build && ls":                "",
		"ls; node":                         "",
		"cd sub && sh job.sh":              "sub/job.sh",
		"cd a; cd b; sh job.sh":            "a/b/job.sh",
		"sh -c 'sh job.sh'":                "job.sh",
		"find . -exec sh job.sh {} +":      "job.sh",
		"find . -name x -exec ./run {} +":  "./run",
		"env sh job.sh":                    "job.sh",
		"timeout 5 sh job.sh":              "job.sh",
		"ls | xargs sh job.sh":             "job.sh",
		"sort --compress-program=./run x":  "./run",
		"tar -cf x.tar -I ./run .":         "./run",
		"sed -f x.sed text":                "x.sed",
		"awk -f x.awk text":                "x.awk",
		"ls() { sh job.sh; }; ls":          "job.sh",
		"alias ls='sh job.sh'; ls":         "",
		"rm -rf $(cat list)":               "list",
		"rm *.o":                           "",
		"$x":                               "",
		"echo ok # \\\nsh job.sh":          "job.sh",
		"ls 'unfinished":                   "",
		"x=$(cat f); echo $((x))":          "f",
		"x=$(cat f); ((x))":                "f",
		"x=$(cat f); [[ $x -eq 1 ]]":       "f",
		"x=$(cat f); y=${a[$x]}":           "f",
		"x=$(cat f); y=${!x}":              "f",
		"ls > out; sh job.sh 2>&1 | tee x": "job.sh",

		"[ -v 'a[x]' ]": "",

		"ls -l src":                             "-",
		"cat a b | grep -v x | wc -l > n":       "-",
		"rm -rf build":                          "-",
		"cp a b && mv b c; mkdir -p d/e":        "-",
		"touch a":                               "-",
		"echo a >> log.txt 2>&1":                "-",
		"if [ -e a ]; then echo yes; fi":        "-",
		"find . -name '*.o' -delete":            "-",
		"find . -exec cat {} +":                 "", // a word is known only while it runs
		"cd sub && head -n 3 notes.md":          "-",
		"TZ=Europe/Rome date":                   "-",
		"cat <<'E' > a\nsh job.sh\nE":           "-",
		"(cat a; cat b) | tail -n 1 | sh -c ls": "",
	} {
		names, loads := Loads(line, false)
		if loads != (want != "-") {
			t.Errorf("%q loads files: %v", line, loads)
		}
		if want != "" && want != "-" && !slices.Contains(names, want) {
			t.Errorf("%q names %q, want %q", line, names, want)
		}
	}
	for _, line := range []string{
		"env -C sub sh job.sh", "make -C sub -f job.sh", "find sub -execdir sh job.sh ';'", "cd $(cat where) && sh job.sh", "cd su?; sh job.sh",
		"HOME=$HOME/sub; sh ~/job.sh", "CDPATH=./sub; cd job && sh job.sh",
	} {
		if names, loads := Loads(line, false); len(names) > 0 || !loads {
			t.Errorf("%q names %q, of a folder that nobody knows before", line, names)
		}
	}
	for line, want := range map[string]bool{"ls -l": false, "cat a | wc -l": false, "cp a /etc/cron.d/a": true, "cat a > /etc/cron.d/a": true, "cat a | tee /etc/a": true} {
		if _, loads := Loads(line, true); loads != want {
			t.Errorf("without the sandbox %q: %v", line, loads)
		}
	}
}
