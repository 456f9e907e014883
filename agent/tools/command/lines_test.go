//go:build unix

package command

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// programs of the world in which made lines run. They only note that they ran, and end
// with 0 or, the last, with 1.
var noting = []string{"alpha", "beta", "gamma", "fails"}

// A maker makes lines for a shell, at random.
type maker struct {
	*rand.Rand
	depth     int
	functions int
}

// function is a name that no other function of the line has: none calls itself.
func (m *maker) function() string {
	m.functions++
	return "f" + strconv.Itoa(m.functions)
}

func (m *maker) pick(of ...string) string { return of[m.IntN(len(of))] }

func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

// name is that of a program, in one of the ways to write it.
func (m *maker) name() string {
	name := noting[m.IntN(len(noting))]
	at := 1 + m.IntN(len(name)-1)
	a, b := name[:at], name[at:]
	switch m.IntN(30) {
	case 0:
		return a + `"` + b + `"`
	case 1:
		return `'` + a + `'` + b
	case 2:
		return a + `\` + b
	case 3:
		return a + "\\\n" + b
	case 4:
		return a + `""` + b
	case 5:
		return m.pick("$v", "${v}", "${w:-"+name+"}", "$(echo "+name+")", "`echo "+name+"`", a+"$n"+b, a+"*", "{"+name+",x}", "./"+name, "$'"+name+"'")
	}
	return name
}

func (m *maker) word() string {
	switch m.IntN(36) {
	case 0:
		return `"` + m.pick("a b", "a # b", `\"`, "$v", "`alpha q`", "$(beta q)", `\\`, "it's", "a\\\nb", "#", "!") + `"`
	case 1:
		return `'` + m.pick("a b", "# x", `\`, "$v", "$(beta q)", "`", "\n", `"`) + `'`
	case 2:
		return m.pick(`\ `, `\#`, `\\`, `\'`, `\"`, `\$v`, "a\\\nb", "\\\n#", `\;`, `\(`)
	case 3:
		return m.pick("#a", "a#b", "a#", "$#", "${#v}", "${v#x}", "${v%y}", "${w:-z}", "${w:=z}", "${w+z}", "$?", "$((1 + 2))", "$(( 2#1 ))", "~", "*", "?", "[a]", "{a,b}", "{1..3}", "$'a\\tb'", "a=b", "-n", "--", "{}", "}", "!", "in", "do", "[", "=")
	case 4:
		return "$(" + m.inner() + ")"
	case 5:
		return "`" + strings.NewReplacer("`", "", "\\", "").Replace(m.inner()) + "`"
	case 6:
		return m.pick("${w:-$(beta s)}", "$(( $(echo 1) + 1 ))", `"${w:-"$(beta t)"}"`, "${w:-`gamma`}", "$(# c\nbeta)", "$( (alpha) )", "`# c\nbeta`", "${v/x/$(beta u)}", "<(beta v)")
	}
	return m.pick("a", "b", "1", "x.y", "-l", "alpha", "z")
}

func (m *maker) comment() string {
	return m.pick("#", "# ", "#a ", " # it's ", "# \" ", "# $( ", "# ` ", "# \\ ", "# <<E ", "#!", "## ") + m.pick("", "x", "alpha y", "; beta", "; gamma", "it's", ")", "fi", "done", " \\ ", "\\", " \\", "\\\\")
}

func (m *maker) redirection() string {
	return m.pick(">out", "2>/dev/null", ">>out", "2>&1", "</dev/null", ">|out", "&>out", "< /dev/null", "1>out", ">$v.out", "> \"a b\"", "<<< x")
}

// document is a command that is told a here-document.
func (m *maker) document() string {
	text := m.pick("a\n", "$(beta d)\n", "`gamma d`\n", "# x \\\nbeta\n", "\\$(beta)\n", "\"\n", "'\n", "$v\n", "\tx\n", "a\\\nE\n", "")
	return m.pick(m.name(), "cat", "sh") + m.pick(" <<E", " <<'E'", " <<\\E", " <<-E", " << \"E\"") + m.pick("", " | alpha", "; beta", " && gamma", " # c", " >out") + "\n" + text + "E\n"
}

// command is a simple command.
func (m *maker) command() string {
	parts := []string{m.name()}
	for range m.IntN(4) {
		parts = append(parts, m.word())
	}
	if m.chance(12) {
		parts = slices.Insert(parts, m.IntN(len(parts)+1), m.redirection())
	}
	if m.chance(6) {
		parts = slices.Insert(parts, 0, m.pick("x=1", "v=beta", "y=$(alpha)", "IFS=", "x+=1", "LC_ALL=C", "TZ=UTC", "LANG=C", "TZ=$(beta)"))
	}
	gap := m.pick(" ", " ", " ", " ", "  ", "\t", " \\\n", "\\\n ")
	return strings.Join(parts, gap)
}

// wrapper is a command that runs another.
func (m *maker) wrapper() string {
	c := m.command()
	quoted := "'" + strings.ReplaceAll(m.inner(), "'", `'\''`) + "'"
	switch m.IntN(17) {
	case 0:
		return "env " + m.pick("", "-i PATH=$PATH ", "-u x ") + c
	case 1:
		return "nice -n 1 " + c
	case 2:
		return "timeout 5 " + c
	case 3:
		return m.pick("command ", "exec ", "builtin ", "command -- ", "command -v ") + c
	case 4:
		return m.pick("sh", "bash", "dash") + m.pick(" -c ", " -ec ", " -x -c ") + quoted
	case 5:
		return "eval " + m.pick("", "-- ") + quoted
	case 6:
		return "trap " + quoted + " EXIT"
	case 7:
		return "echo " + m.pick("a b", "alpha", "'x y'") + " | xargs " + m.pick("", "-n1 ", "-I{} ") + m.name() + m.pick("", " {}", " -- q")
	case 8:
		return "find . -prune -exec " + m.name() + m.pick(` {} \;`, " {} +", " x ';'")
	case 9:
		return m.pick("alias q=alpha\nq", "hash alpha", ". ./file", "set -- a b; "+c, "set -e; "+c, "shift", "read -r v </dev/null", "printf %s alpha", "unset v", "type alpha", "export v", "readonly v", "local v=beta", "jobs", "wait")
	case 10:
		return "echo " + quoted + " | sh" + m.pick("", " -s", " /dev/stdin", " -")
	case 11:
		return "v=" + m.pick(noting...) + "; $v a"
	case 12:
		return m.pick("nohup ", "time ", "! ", "{ ", "coproc ") + c
	case 13:
		return "PATH=./none; " + c
	case 14:
		return "printf -v v " + m.pick("alpha", "'%s' beta", `'\x62eta'`) + "; $v"
	case 15:
		return "x='" + m.pick("$(alpha)", `\x24(alpha)`, "`beta`", "a[$(alpha)]") + "'; " + m.pick("echo $x", "echo ${x@P}", "echo $((x))", "eval $x", `echo "$x"`)
	}
	return m.document()
}

// inner is a script within another.
func (m *maker) inner() string {
	m.depth++
	defer func() { m.depth-- }()
	if m.depth > 3 {
		return m.name()
	}
	return m.script()
}

func (m *maker) statement() string {
	m.depth++
	defer func() { m.depth-- }()
	if m.depth > 4 {
		return m.command()
	}
	s, end := m.statement, m.pick("; ", "\n", " # c\n", " "+m.comment()+"\n", "&\n")
	switch m.IntN(48) {
	case 0:
		return s() + " && " + s()
	case 1:
		return s() + m.pick(" || ", "||", " ||\n", " || # c\n") + s()
	case 2:
		return s() + m.pick(" | ", "|", " |\n", " |& ", " | "+m.comment()+"\n") + s()
	case 3:
		return "(" + s() + m.pick(")", "\n)", " )")
	case 4:
		return "{ " + s() + end + "}"
	case 5:
		return "if " + s() + end + "then " + s() + end + m.pick("", "else "+s()+end, "elif "+s()+end+"then "+s()+end) + "fi"
	case 6:
		return "while fails " + m.word() + "\ndo " + s() + end + "done"
	case 7:
		return "for i in " + m.word() + " " + m.word() + m.pick("; ", "\n", " # c\n") + "do " + s() + end + "done"
	case 8:
		return "case " + m.pick("a", "$v", "'#'") + " in " + m.pick("", "# c\n", m.comment()+"\n") + m.pick("a", "*", "(a", "a|b", "'#'", `\#`) + ") " + s() + m.pick(";;", "\n;;", " ;; # c\n", "") + " esac"
	case 9:
		f := m.function()
		return f + "() { " + s() + end + "}; " + f + " a"
	case 10:
		return m.pick("! ", "time ") + s()
	case 11:
		return s() + " &\nwait"
	case 12:
		return m.pick("[[ -n a ]] && ", "(( 1 )) && ", "[ -n a ] && ", "test a = b || ", "true && ", ": # c\n") + s()
	case 13, 14, 15:
		return m.wrapper()
	case 18:
		f := m.function()
		return "function " + f + m.pick(" { ", "() { ") + s() + end + "}; " + f
	case 17:
		return "x=" + m.pick("$("+m.name()+")", `"$(`+m.name()+`)"`, "`alpha`", "$(alpha", "`beta", `"$(gamma`)
	}
	return m.command()
}

func (m *maker) script() string {
	var b strings.Builder
	for i := range 1 + m.IntN(3) {
		if i > 0 {
			b.WriteString(m.pick("; ", "\n", "\n\n", ";", " & ", "\n\t", " \\\n; "))
		}
		b.WriteString(m.statement())
		if m.chance(8) {
			b.WriteString(m.pick(" ", "", ";", "\t") + m.comment() + "\n" + m.statement())
		}
	}
	return b.String()
}

// line is a script, and sometimes one with a slip in it.
func (m *maker) line() string {
	line := m.script()
	for m.functions == 0 && m.chance(8) {
		at := m.IntN(len(line) + 1)
		switch m.IntN(3) {
		case 0:
			line = line[:at] + m.pick("#", "\\", "\n", "'", "\"", "`", "(", ")", "{", "}", ";", " ", "$", "\\\n", "# \\\n", "<<E\n", "=", "!", "|", "*") + line[at:]
		case 1:
			line = line[:max(at-1, 0)] + line[at:]
		case 2:
			from := m.IntN(len(line) + 1)
			line = line[:at] + line[from:min(from+10, len(line))] + line[at:]
		}
	}
	return line
}

// Lines as people and models write them do the same as typed and as printed.
func TestPrintingKeepsTheMeaning(t *testing.T) {
	t.Parallel()
	lines := []string{
		"# nothing", "echo a # b", "echo 'a  b' \"c  d\" e\\ f", "echo a\\\nb; echo a \\\n b", "echo \"a\\\nb\"", "echo 'a\\\nb'", "printf '%s|' \"$@\" a '' \"\"",
		"echo a > f; cat < f; cat f >> g; cat g 2>&1 | cat", "echo *; touch=1; echo a > x.c; echo *.c '*.c' \\*.c [x].c", "echo {a,b}{1,2} ~ \"~\" a=~",
		"cat <<E\n$((1 + 2)) `echo a` $(echo b) \\$x \\\\ \"q\"\nE", "cat <<'E'\n$((1)) `a` \\\n\nE", "cat <<-E\n\ta\n\t\tb\n\tE\necho c", "cat <<A; cat <<B\na\nA\nb\nB", "cat <<E | cat\na\nE\necho b", "x=$(cat <<E\na 'b\nE\n); echo \"$x\"",
		"if true; then\n  cat <<E\n  a\nE\nfi", "f() { cat <<-E\n\ta\n\tE\n}; f", "for i in 1 2; do cat <<E\n$i\nE\ndone",
		"x=5; echo $((x * 2)) $((x<<1)) $(( (x+1) * 2 )) \"$((x%3))\"", "x=abc; echo ${x} ${#x} ${x#a} ${x%c} ${x:-d} ${y:-d e} \"${y:-d  e}\" ${y:=z}$y ${x:+s}", "x=a; echo \"${x}b\" \"${x}_\" $x.b ${x}1",
		"f() { echo \"$1-$#\"; return 3; }; f a b || echo $?", "f() (echo sub); f", "f()\n{\necho a\n}\nf", "x=1; { x=2; }; (x=3); echo $x", "(echo a; (echo b)); { echo c; }", "( (echo a) )", "echo $( (echo a) )", "! false && echo a", "true && echo a || echo b", "false ||\necho a",
		"echo a & wait; echo b", "{ echo a; } & wait", "(sleep=1; echo a) & wait $!; echo $?", "for i in a b; do echo $i; done", "for i\ndo echo $i; done", "while read -r a b; do echo \"$b $a\"; done <<E\n1 2\nx y z\nE", "until true; do :; done; echo a",
		"case abc in a*) echo a;; *) echo b;; esac", "case x in\n(x|y) echo xy ;;\nesac", "case '' in '') echo e; esac", "if [ -f x ]; then echo a; elif [ ! -f y ]; then echo b; else echo c; fi", "test a = b; echo $?", "[ \"a b\" = 'a b' ] && echo y",
		"eval 'echo a; echo b'", "set -- a 'b c' d; echo $# \"$2\" \"$*\"; shift; echo $1", "trap 'echo bye' EXIT; echo hi", "echo `echo a` `echo \\`echo b\\`` \"`echo \"c d\"`\"", "echo `echo \\\\a` `echo '\\$x'` \"`echo \\\\\\\\`\"", "x='a\nb'; echo \"$x\"; echo $x", "IFS=:; x=a:b; printf '<%s>' $x",
		"exec 3>f; echo a >&3; exec 3>&-; cat f", "echo a >f 2>&1 </dev/null; cat f", "echo $'a\\tb' $\"c\"", "echo a; exit 3", "echo a |\ncat", "echo a \\\n| cat", "echo \\# a#b '#' \"#\" ${x#y} $#", "echo a;echo b;\n\n\necho c", "echo \\\n  a   \t b", "x=1 y=2; echo $x$y", "echo \"a\n# b\nc\"",
		"a=(1 2 '3 4'); echo \"${a[2]}\" ${#a[@]}; a+=(5); for i in \"${a[@]}\"; do echo \"<$i>\"; done", "declare -A m; m[k]=v; echo \"${m[k]}\"", "cat <(echo a) <(echo b)", "echo a | tee=1 cat", "[[ abc == a* && -n x ]] && echo y", "[[ abc =~ ^a(b)c$ ]] && echo ${BASH_REMATCH[1]}",
		"((x = 3, x++)); echo $x", "for ((i=0; i<3; i++)); do echo $i; done", "cat <<< \"a b\"", "echo ${x/a/b} ${x^^}; x=aba; echo ${x/a/b} ${x//a/b} ${x^^} ${x:1:1}", "function f { echo a; }; f", "echo a |& cat", "echo a &> f; cat f", "select=1; echo $select", "echo {1..3} {a..c}", "x=@(a|b)", "shopt -s extglob\necho !(f)", "time=1; echo $time", "let x=1+2; echo $x", "printf '%q\\n' 'a b'", "echo $(<f)", "coproc=1; echo $coproc", "local x=1", "echo \"${x[@]:1}\" ${!x}",
	}
	for name, dialect := range map[string]syntax.LangVariant{"dash": syntax.LangPOSIX, "bash": syntax.LangBash} {
		t.Run(name, func(t *testing.T) {
			shell, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("%s is missing: what it makes of printed lines is NOT tried", name)
			}
			w, dir := newWorld(t, shell), filepath.Join(open(t), "world")
			for _, line := range lines {
				text, _, printed := runs(line, dialect)
				if !printed && name == "bash" {
					t.Errorf("%q is not printed", line)
				}
				_, typed, _ := w.run(t, dir, shell, line)
				if _, said, _ := w.run(t, dir, shell, text); said != typed {
					t.Errorf("%q prints %q, and as %q %q", line, typed, text, said)
				}
			}
		})
	}
}

// A world is a folder with nothing but programs that note that they ran, and wrappers.
type world struct{ bin, dash, processes string }

// open is a temporary folder that another user may look into.
func open(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func newWorld(t *testing.T, shell string) world {
	t.Helper()
	w := world{bin: open(t), processes: "unlimited"}
	if os.Geteuid() == 0 {
		w.processes = "200"
	}
	dash, err := exec.LookPath("dash")
	if err != nil {
		dash = "/bin/sh"
	}
	for _, name := range noting {
		status := 0
		if name == "fails" {
			status = 1
		}
		// One write, so that programs side by side do not mix what they note.
		text := fmt.Sprintf("#!%s\nprintf '%%s\\0' %s \"$@\" '\x01' >&9\nexit %d\n", dash, name, status)
		if err := os.WriteFile(filepath.Join(w.bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "bash", "dash", "env", "nice", "timeout", "xargs", "find", "nohup", "cat"} {
		real, err := exec.LookPath(name)
		if name == "sh" {
			real = shell
		}
		if err == nil || name == "sh" {
			if err := os.Symlink(real, filepath.Join(w.bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.dash = dash
	return w
}

// run runs a line as /bin/sh would if it were shell, and returns the programs that ran, in
// the order of their texts, and what was printed. ok is false where it did not end.
func (w world) run(t *testing.T, dir, shell, line string) (ran []string, printed string, ok bool) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil || os.Chmod(dir, 0o777) != nil {
		t.Fatal(err)
	}
	notes, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer notes.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.dash, "-c", `ulimit -t 2; ulimit -f 128; ulimit -p "$2"; exec "$0" -c "$1" 9>&3 3>&-`, filepath.Join(w.bin, "sh"), line, w.processes)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + w.bin, "HOME=" + dir, "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 { // root's processes are not limited
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 61234, Gid: 61234}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.ExtraFiles = []*os.File{theirs}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	var log bytes.Buffer
	read := make(chan struct{})
	go func() { defer close(read); _, _ = log.ReadFrom(notes) }()
	_ = cmd.Wait()
	<-read
	_ = cmd.Cancel() // what is left of it
	ran = strings.Split(passing.ReplaceAllString(log.String(), ""), "\x00\x01\x00")
	ran = ran[:len(ran)-1]
	slices.Sort(ran)
	return ran, passing.ReplaceAllString(out.String(), ""), ctx.Err() == nil
}

// passing is a number of a line in a message of a shell, and the state of a job, which is over sooner or later.
var passing = regexp.MustCompile(`:[ \x00](line[ \x00])?[0-9]+:[ \x00]|(?m:^\[[0-9]+\][+-]? +[A-Z].*\n)`)

// matches says that a command that was judged is one that ran: what is not known of it may be
// anything.
func matches(words []word, ran []string) bool {
	if len(words) == 0 {
		return len(ran) == 0
	}
	if words[0].known {
		return len(ran) > 0 && words[0].text == ran[0] && matches(words[1:], ran[1:])
	}
	for n := range len(ran) + 1 {
		if matches(words[1:], ran[n:]) {
			return true
		}
	}
	return false
}

// readBy says that a command is a shell that reads a program as a script, which bash looks
// for in PATH too.
func readBy(words []word, program string) bool {
	return len(words) > 1 && slices.Contains([]string{"sh", "bash", "dash"}, words[0].text) && words[1] == word{program, true}
}

// judgedFor are all commands of a line in both readings.
func judgedFor(shell syntax.LangVariant, line string) (all [][]word) {
	text, _, _ := runs(line, shell)
	for _, dialect := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
		read := &reading{dialect: dialect}
		read.line(text)
		for _, words := range read.commands {
			if words[0].known {
				words = append([]word{{filepath.Base(words[0].text), true}}, words[1:]...)
			}
			all = append(all, words)
		}
	}
	return all
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(otherwise)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// Of made lines, at least half of which run a program, each program that dash or bash runs
// unasked is one that was judged, and what runs does what was typed.
func TestWhatRunsWasJudged(t *testing.T) {
	lines, seed := number(t, "SWITCHBOARD_TEST_LINES", 2000), number(t, "SWITCHBOARD_TEST_SEED", 1)
	// A pattern that is set, so that what cannot be judged asks.
	rules := Rules{Deny: []string{"nothing"}, Allow: []string{"*"}}
	for name, dialect := range map[string]syntax.LangVariant{"dash": syntax.LangPOSIX, "bash": syntax.LangBash} {
		t.Run(name, func(t *testing.T) {
			shell, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("%s is missing: what it runs is NOT compared with what is judged", name)
			}
			w := newWorld(t, shell)
			var next, allowed, sampled, running atomic.Int64
			var all sync.WaitGroup
			for range runtime.GOMAXPROCS(0) {
				dir := filepath.Join(open(t), "world")
				all.Go(func() {
					for i := next.Add(1); i <= int64(lines); i = next.Add(1) {
						m := &maker{Rand: rand.New(rand.NewPCG(uint64(seed), uint64(i)))}
						line := m.line()
						text, _, _ := runs(line, dialect)
						unasked, sample := rules.judgeFor(dialect, line).Outcome == Allowed, i%5 == 0
						if !unasked && !sample {
							continue
						}
						ran, said, ended := w.run(t, dir, shell, text)
						if sample {
							typed, told, done := w.run(t, dir, shell, line)
							sampled.Add(1)
							if len(typed) > 0 {
								running.Add(1)
							}
							differ := func() bool { return unasked && ended && done && (!slices.Equal(ran, typed) || told != said) }
							for again := 0; again < 100 && differ() && strings.Contains(line, "&"); again++ { // what runs in the background may be first or last
								ran, said, ended = w.run(t, dir, shell, text)
								typed, told, done = w.run(t, dir, shell, line)
							}
							if differ() {
								t.Errorf("line %d of seed %d, typed %q, runs %q:\n%q %q, not\n%q %q", i, seed, line, text, ran, said, typed, told)
							}
						}
						if !unasked {
							continue
						}
						allowed.Add(1)
						judged := judgedFor(dialect, line)
						for _, one := range ran {
							words := strings.Split(one, "\x00")
							if !slices.ContainsFunc(judged, func(c []word) bool { return matches(c, words) || readBy(c, words[0]) }) {
								t.Errorf("line %d of seed %d, %q: %q ran and was not judged: %v", i, seed, line, words, judged)
							}
						}
					}
				})
			}
			all.Wait()
			t.Logf("%d lines of seed %d: %d are allowed unasked; of %d, %d run a program", lines, seed, allowed.Load(), sampled.Load(), running.Load())
			if running.Load() < sampled.Load()/2 {
				t.Errorf("only %d of %d lines run a program", running.Load(), sampled.Load())
			}
		})
	}
}
