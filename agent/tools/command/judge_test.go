package command

import (
	"strings"
	"sync"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// What destroys is refused though no pattern is set, in whatever words it comes.
func TestDestructiveCommandsAreAlwaysRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"rm -rf /", "rm -fr /*", "rm -r -f -- /", "rm / -rf", "rm --recursive /etc", "rm --recurs /", "rm -rf //", "rm -rf /./", "rm -rf /tmp/..",
		"rm -rf ~", "rm -rf ~/", "rm -rf ~/*", "rm -rf ~root", "rm -rf ~/..", "rm -rf ~root/x/../..", "rm -rf $HOME", `rm -rf "${HOME}"/*`, "rm -rf /usr/*", "rm -rf /e?c", "rm -rf --no-preserve-root x",
		"/bin/rm -rf /", `\rm -rf /`, `r""m -rf /`, `"r"'m' -rf /`, "/bin/r? -rf /", "/b*/rm -rf /", "r${x}m -rf /", "$x rm -rf /", "r$@m -rf /", "$(true)rm -rf /", "rm${IFS}-rf${IFS}/",
		"{rm,-rf,/}", `$'\x72m' -rf /`, "r\\\nm -rf /", "x=rm; $x -rf /", "x=ls; x=rm; $x -rf /", `x="rm -rf"; $x /`, "${x:-rm} -rf /", "for d in /tmp /; do rm -rf $d; done", "rm -rf /$nothing", `rm -rf "$nothing"/*`,
		"ls; rm -rf /", "ls && rm -rf /", "false || rm -rf /", "ls & rm -rf /", "ls | rm -rf /", "ls\nrm -rf /", "ls # ok\nrm -rf /", "(rm -rf /)", "{ rm -rf /; }", "! rm -rf /", "time rm -rf /",
		"if true; then rm -rf /; fi", "while rm -rf /; do :; done", "case x in x) rm -rf /;; esac", "f() { rm -rf /; }; f", "function f { rm -rf /; }",
		"echo $(rm -rf /)", "echo `rm -rf /`", `echo "$(rm -rf /)"`, "x=$(rm -rf /)", "cat <(rm -rf /)", "cat <<E\n$(rm -rf /)\nE", "echo ${x:-$(rm -rf /)}", "echo $(( $(rm -rf /) ))", "ls > $(rm -rf /)",
		"rm -rf / ; if", "rm -rf /\n)", "X=1 rm -rf /", "2>/dev/null rm -rf / >x",
		`sh -c "rm -rf /"`, `sh -ec 'rm -rf /'`, `bash -o pipefail -c 'rm -rf /'`, `bash --norc -c 'rm -rf /'`, `sh -c 'sh -c "rm -rf /"'`, "eval rm -rf /", `eval "rm -rf /"`, "eval -- 'rm -rf /'", "trap 'rm -rf /' EXIT", "trap -- 'rm -rf /' EXIT", "setpriv rm -rf /", "sg root 'rm -rf /'", "compgen -C 'rm -rf /'", "mapfile -C 'rm -rf /' -c 1 x", "exec rm -rf /", "command rm -rf /", "command -p rm -rf /", "builtin rm -rf /",
		"env rm -rf /", "env -i A=b rm -rf /", "env -u X rm -rf /", "env -S 'rm -rf /'", "nohup rm -rf /", "nice -n 5 rm -rf /", "nice -5 rm -rf /", "timeout 5 rm -rf /", "timeout -s KILL 5 rm -rf /", "timeout --signal KILL 5 rm -rf /",
		"stdbuf -oL rm -rf /", "setsid rm -rf /", "sudo rm -rf /", "sudo -u root rm -rf /", "busybox rm -rf /", "busybox sh -c 'rm -rf /'", "su -c 'rm -rf /'", "strace -f rm -rf /", "/lib64/ld-linux-x86-64.so.2 /bin/rm -rf /",
		"echo / | xargs rm -rf", "echo / | xargs -I{} rm -rf {}", "xargs rm -rf / < x", "echo rm -rf / | sh", "printf 'rm -rf /\\n' | bash", "sh <<E\nrm -rf /\nE", "sh <<< 'rm -rf /'",
		"find / -delete", "find / -name x -delete", "find / -exec rm -rf {} +", `find . -exec rm -rf / \;`, `find /etc -execdir rm -r '{}' ';'`,
		"cd / && rm -rf *", "cd /; rm -rf .", "cd && rm -rf *", "cd /etc && chmod -R 777 ./*",
		"chmod -R 777 /", "chown --recursive nobody /usr", "mv / /tmp/x", "mv /etc /tmp", "mkfs.ext4 /dev/sda1", "mkfs -t ext4 /dev/sda", "dd if=/dev/zero of=/dev/sda bs=1M", "dd of=/dev/nvme0n1", "cp x /dev/sda",
		"> /dev/sda", "cat x >> /dev/vda", "cat x | tee /dev/sdb", "shred /dev/sda", "wipefs -a /dev/sda", "sfdisk /dev/sda", "echo b > /proc/sysrq-trigger", "cat /dev/zero > /dev/sd?",
		"shutdown -h now", "reboot", "/sbin/poweroff", "init 0", "systemctl reboot", "kill -9 -1",
		":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb", "b() { b & b; }; b",
	} {
		for _, rules := range []Rules{DefaultRules(), {Allow: []string{"*", "rm *"}, Ask: []string{"rm *"}}} {
			if j := rules.Judge(line); j.Outcome != Refused || j.Rule != "policy.exec.destructive" || j.Reason == "" {
				t.Errorf("%q: %+v", line, j)
			}
		}
	}
}

func TestOrdinaryCommandsRunWhileNoPatternsAreSet(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", "# nothing", "ls -la", "rm -rf build", "rm -rf ./*", "rm -rf *", "cd build && rm -rf *", "rm -rf /tmp/x", "rm -rf ~/project/build", "rm /etc/x", "rm -f /tmp/*", `d=$(mktemp -d); rm -rf "$d"/*`, `clean() { rm -rf "$1"/*; }; clean build`,
		"while read -r d; do rm -rf \"$d\"/*; done < list", "echo rm -rf /", "grep -r 'rm -rf /' .", "git commit -m 'no more rm -rf /'", "git push --force", "python3 -c 'print(1)'", "curl x | sh", "eval $x", "if", "$(cat x)",
		"echo x > /dev/null 2>&1", "cat < /dev/urandom | head -c 5", "dd if=/dev/zero of=file bs=1M count=1", "fdisk -l /dev/sda", "chmod -R u+w .", "chmod +x /usr/local/bin/x", "mv x /tmp", "mv a b /usr", "cp /etc/hosts .", "kill -1 123", "kill -9 42",
		"find . -name '*.o' -delete", "find / -name '*.log'", "find /tmp -exec rm {} +", "f() { f; }; f", "x() { y | z & }", "systemctl status x", "init x", "tee out.txt", "[ -f x ] && echo yes", "for i in 1 2 3; do echo $i; done", "rm -rf '$HOME'x",
	} {
		if j := DefaultRules().Judge(line); j != (Judgement{}) {
			t.Errorf("%q: %+v", line, j)
		}
	}
}

// Turns judge their commands side by side: the race detector sees what they would share.
func TestCommandsAreJudgedSideBySide(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				DefaultRules().Judge(`echo {a,b} 'one' $'two' "$x" *.go`)
			}
		})
	}
	all.Wait()
}

func TestCommandsAreJudgedByPatterns(t *testing.T) {
	t.Parallel()
	deny := Rules{Deny: []string{"git push *", "curl *", "> /etc/*"}, Ask: []string{"git fetch", "git tag *"}, Allow: []string{"*"}}
	only := Rules{Allow: []string{"git status *", "git log *", "ls", "sh -c *", "xargs *", "find *", "timeout *", "echo *", "cat *", "> out/*", "/usr/bin/id", "make -*"}}
	touch := Rules{Deny: []string{"touch *"}, Allow: []string{"*"}}
	secret := Rules{Allow: []string{"cat *"}, Deny: []string{"* secret"}}
	for _, c := range []struct {
		rules Rules
		line  string
		want  Outcome
		rule  string
	}{
		// deny goes before ask, ask before allow; a pattern is matched word by word
		{deny, "git status", Allowed, `policy.exec.allow "*"`},
		{deny, "git push", Refused, `policy.exec.deny "git push *"`},
		{deny, "git push -f origin", Refused, `policy.exec.deny "git push *"`},
		{deny, "git pushx", Allowed, ""},
		{deny, "gitx push", Allowed, ""},
		{deny, "git fetch", Asked, `policy.exec.ask "git fetch"`},
		{deny, "git fetch --all", Allowed, ""},
		{deny, "git tag v1", Asked, `policy.exec.ask "git tag *"`},
		{deny, "git fetch; git push", Refused, `policy.exec.deny "git push *"`},
		{deny, "ls | git tag x | cat", Asked, `policy.exec.ask "git tag *"`},
		{only, "ls", Allowed, `policy.exec.allow "ls"`},
		{only, "ls -l", Refused, "policy.exec.allow"},
		{secret, "cat secret", Refused, `policy.exec.deny "* secret"`},
		{secret, "ls && cat secret", Refused, `policy.exec.deny "* secret"`},
		{only, "make -j4", Allowed, `policy.exec.allow "make -*"`},
		{only, "make all", Refused, "policy.exec.allow"},
		{Rules{}, "ls", Refused, "policy.exec.allow"},
		{Rules{Allow: []string{"*"}, Ask: []string{"*"}}, "ls", Asked, `policy.exec.ask "*"`},
		// the text is no command: quotes, comments, data
		{deny, "echo 'git push'", Allowed, ""},
		{deny, `echo "a; git push"`, Allowed, ""},
		{deny, "ls # git push", Allowed, ""},
		{deny, "cat <<E\ngit push\nE", Allowed, ""},
		{only, "git log --grep='a;b' && ls", Allowed, `policy.exec.allow "git log *"`},
		// more than the first word of the line
		{only, "ls; rm x", Refused, "policy.exec.allow"},
		{only, "ls && rm x", Refused, "policy.exec.allow"},
		{only, "ls || rm x", Refused, "policy.exec.allow"},
		{only, "ls & rm x", Refused, "policy.exec.allow"},
		{only, "ls | rm x", Refused, "policy.exec.allow"},
		{only, "ls\nrm x", Refused, "policy.exec.allow"},
		{only, "ls # harmless\nrm x", Refused, "policy.exec.allow"},
		{only, "ls \\\n; rm x", Refused, "policy.exec.allow"},
		{only, "git status $(rm x)", Refused, "policy.exec.allow"},
		{only, "git status `rm x`", Refused, "policy.exec.allow"},
		{only, `git status "$(rm x)"`, Refused, "policy.exec.allow"},
		{only, "git status <(rm x)", Refused, "policy.exec.allow"},
		{only, "git status ${x:-$(rm x)}", Refused, "policy.exec.allow"},
		{only, "git status <<E\n$(rm x)\nE", Refused, "policy.exec.allow"},
		{only, "git status\n) rm x", Asked, "policy.exec.unclear"},
		{only, "f() { rm x; }; ls", Refused, "policy.exec.allow"},
		{only, "ls() { rm x; }; ls", Refused, "policy.exec.allow"},
		{only, "echo ok > out/file", Allowed, `policy.exec.allow "echo *"`},
		{only, "echo evil > .git/hooks/pre-commit", Refused, "policy.exec.allow"},
		{only, "cat < /etc/shadow", Refused, "policy.exec.allow"},
		{only, "ls 2>&1 >/dev/null", Allowed, ""},
		{only, "> x", Refused, "policy.exec.allow"},
		{deny, "echo x | tee y >/etc/passwd", Refused, `policy.exec.deny "> /etc/*"`},
		{deny, "echo x &>> /etc/passwd", Refused, `policy.exec.deny "> /etc/*"`},
		// however the name is written
		{deny, "/usr/bin/git push", Refused, `policy.exec.deny "git push *"`},
		{deny, "./git push", Refused, `policy.exec.deny "git push *"`},
		{deny, `\git pu\sh`, Refused, `policy.exec.deny "git push *"`},
		{deny, `g"i"t 'pu'sh`, Refused, `policy.exec.deny "git push *"`},
		{deny, `$'\x67it' push`, Refused, `policy.exec.deny "git push *"`},
		{deny, "{git,push}", Refused, `policy.exec.deny "git push *"`},
		{deny, "git\tpush", Refused, `policy.exec.deny "git push *"`},
		{deny, "gi\\\nt push", Refused, `policy.exec.deny "git push *"`},
		{only, "/tmp/evil/ls", Refused, "policy.exec.allow"},
		{only, "./ls", Refused, "policy.exec.allow"},
		{only, "/usr/bin/id", Allowed, ""},
		// what it wraps
		{deny, "sh -c 'ls; git push'", Refused, `policy.exec.deny "git push *"`},
		{deny, "bash -euo pipefail -c 'git push'", Refused, `policy.exec.deny "git push *"`},
		{deny, "env git push", Refused, `policy.exec.deny "git push *"`},
		{deny, "nohup nice -n 3 timeout -k 1 5 git push &", Refused, `policy.exec.deny "git push *"`},
		{deny, "echo x | xargs -n1 git push", Refused, `policy.exec.deny "git push *"`},
		{deny, `find . -name x -exec git push {} \;`, Refused, `policy.exec.deny "git push *"`},
		{deny, "command git push", Refused, `policy.exec.deny "git push *"`},
		{deny, "command -v git", Allowed, ""},
		{deny, "exec -a x git push", Refused, `policy.exec.deny "git push *"`},
		{deny, "eval git push", Refused, `policy.exec.deny "git push *"`},
		{deny, "trap 'git push' EXIT", Refused, `policy.exec.deny "git push *"`},
		{deny, "trap -- 'git push' EXIT", Refused, `policy.exec.deny "git push *"`},
		{deny, "eval -- 'git push'", Refused, `policy.exec.deny "git push *"`},
		{deny, "compgen -C 'git push'", Asked, "policy.exec.unclear"},
		{Rules{Allow: []string{"trap *", "ls"}}, "trap - EXIT; ls", Allowed, ""},
		{deny, "sh <<E\ngit push\nE", Refused, `policy.exec.deny "git push *"`},
		{only, "sh -c 'git status; ls'", Allowed, `policy.exec.allow "sh -c *"`},
		{only, "sh -c 'git status; rm x'", Refused, "policy.exec.allow"},
		{only, "timeout 5 ls", Allowed, `policy.exec.allow "timeout *"`},
		{only, "timeout 5 rm x", Refused, "policy.exec.allow"},
		{only, "echo x | xargs git log", Allowed, ""},
		{only, "echo x | xargs rm", Refused, "policy.exec.allow"},
		{only, `find . -exec rm {} \;`, Refused, "policy.exec.allow"},
		{only, `find . -exec cat {} +`, Allowed, ""},
		// what cannot be judged
		{deny, "$x push", Asked, `policy.exec.deny "git push *"`},
		{deny, "git $x", Asked, `policy.exec.deny "git push *"`},
		{deny, "git log $x", Allowed, ""},
		{deny, "git pus?", Asked, `policy.exec.deny "git push *"`},
		{deny, "/usr/bin/gi? push", Asked, `policy.exec.deny "git push *"`},
		{deny, "git${IFS}push", Asked, `policy.exec.deny "git push *"`},
		{deny, "$(echo git) push", Asked, `policy.exec.deny "git push *"`},
		{deny, `eval "$x"`, Asked, "policy.exec.unclear"},
		{deny, `sh -c "$x"`, Asked, "policy.exec.unclear"},
		{deny, "cat x | sh", Asked, "policy.exec.unclear"},
		{deny, "sh < x", Asked, "policy.exec.unclear"},
		{deny, "alias ls='git push'\nls", Asked, "policy.exec.unclear"},
		{deny, ". ./x", Asked, "policy.exec.unclear"},
		{deny, "g() { git \"$@\"; }; g push", Asked, `policy.exec.deny "git push *"`},
		{deny, "LD_PRELOAD=./x.so ls", Asked, "policy.exec.unclear"},
		{deny, "PATH=/tmp/evil ls", Asked, "policy.exec.unclear"},
		{deny, "PATH=/tmp/evil; ls", Asked, "policy.exec.unclear"},
		{deny, "for PATH in /tmp; do ls; done", Asked, "policy.exec.unclear"},
		{deny, "read PATH < x", Asked, "policy.exec.unclear"},
		{deny, "export LD_PRELOAD=./x.so; ls", Asked, "policy.exec.unclear"},
		{deny, "set -a; x=1", Asked, "policy.exec.unclear"},
		{deny, "env X=y ls", Asked, "policy.exec.unclear"},
		{deny, "env -S 'git push'", Asked, "policy.exec.unclear"},
		{deny, "TZ=Asia/Tokyo date", Allowed, ""},
		{deny, "while IFS= read -r l; do echo \"$l\"; done < x", Allowed, ""},
		{deny, `PS4='$(git push)'; set -x; ls`, Asked, "policy.exec.unclear"},
		{deny, `x='a[$(git push)]'; echo $((x))`, Asked, "policy.exec.unclear"},
		{deny, "hash -p /tmp/x ls", Asked, "policy.exec.unclear"},
		{deny, "python3 -c 'x'", Asked, "policy.exec.unclear"},
		{deny, "perl -ne 'x' y", Asked, "policy.exec.unclear"},
		{deny, "python3 <<E\nE", Asked, "policy.exec.unclear"},
		{deny, "python3 x.py", Allowed, ""},
		{deny, "python3 --version", Allowed, ""},
		{deny, "timeout --foreground 5 git push", Asked, "policy.exec.unclear"},
		{deny, "find . $x", Asked, "policy.exec.unclear"},
		{deny, "su -c 'git push'", Asked, "policy.exec.unclear"},
		{deny, "ls\r", Asked, "policy.exec.unclear"},
		{deny, "echo 'a", Asked, "policy.exec.unclear"},
		{deny, "diff <(ls) x", Asked, "policy.exec.unclear"}, // a POSIX shell reads it differently
		// a comment that ends in a backslash: the next line is a command all the same
		{touch, "echo ok # \\\ntouch x", Refused, `policy.exec.deny "touch *"`},
		{deny, "echo ok # \\\ngit push", Refused, `policy.exec.deny "git push *"`},
		{deny, "#\\\ngit push", Refused, `policy.exec.deny "git push *"`},
		{deny, "ls;#\\\n# \\\n#\\\ngit push", Refused, `policy.exec.deny "git push *"`},
		{deny, "ls # a \\\\\\\ngit push", Refused, `policy.exec.deny "git push *"`},
		{deny, "echo \"$(ls # \\\ngit push)\"", Refused, `policy.exec.deny "git push *"`},
		{deny, "sh -c 'ls # \\\ngit push'", Refused, `policy.exec.deny "git push *"`},
		{deny, "sh <<'E'\nls # \\\ngit push\nE", Refused, `policy.exec.deny "git push *"`},
		{deny, "if ls; then # \\\ngit push; fi", Refused, `policy.exec.deny "git push *"`},
		{deny, "case x in # \\\nx) git push;; esac", Refused, `policy.exec.deny "git push *"`},
		{only, "echo ok # \\\nls", Asked, "policy.exec.unclear"},
		{DefaultRules(), "echo ok # \\\nls", Asked, "policy.exec.unclear"},
		{DefaultRules(), "sh -c 'ls # \\\nls'", Asked, "policy.exec.unclear"},
		{DefaultRules(), "echo ok # \\\nrm -rf /", Refused, "policy.exec.destructive"},
		{DefaultRules(), "echo ok # \\\nrm -rf /\nif", Refused, "policy.exec.destructive"},
		{DefaultRules(), "if # \\\nrm -rf /; then ls; fi", Refused, "policy.exec.destructive"},
		{DefaultRules(), strings.Repeat("ls # \\\n", 20) + "rm -rf /", Refused, "policy.exec.destructive"},
		// what the parser takes for a comment, and shells for a part of a word
		{deny, "echo $(ls \"\"#; git push\n)", Refused, `policy.exec.deny "git push *"`},
		{deny, "echo `ls $x#; git push`", Refused, `policy.exec.deny "git push *"`},
		{deny, "echo $(ls $(ls)\\\n#; git push\n)", Refused, `policy.exec.deny "git push *"`},
		{DefaultRules(), "echo `ls ''#; rm -rf /`", Refused, "policy.exec.destructive"},
		{deny, "echo $(ls x #; git push\n)", Allowed, ""},
		{deny, "ls x#y \\\n -l", Allowed, ""},
		{deny, "ls '# ' \\\n -l", Allowed, ""},
		{deny, "ls \"a # b\" $x \\\n -l", Allowed, ""},
		{deny, "cat <<E\n# \\\ngit push\nE", Allowed, ""},
		{deny, "ls # a\nls \\\n -l", Allowed, ""},
		// a shell that reads, what writes, what runs or is known later
		{deny, "sh /dev/stdin < x", Asked, "policy.exec.unclear"},
		{deny, "bash /proc/self/fd/0 < x", Asked, "policy.exec.unclear"},
		{deny, "cd /dev && sh stdin < x", Asked, "policy.exec.unclear"},
		{deny, "cd /dev && sh fd/0 < x", Asked, "policy.exec.unclear"},
		{deny, "python3 /dev/stdin < x", Asked, "policy.exec.unclear"},
		{deny, "sh /dev/stdin <<E\ngit push\nE", Refused, `policy.exec.deny "git push *"`},
		{deny, "sh job.sh", Allowed, ""},
		{deny, "find . -fprintf /etc/passwd x", Refused, `policy.exec.deny "> /etc/*"`},
		{deny, "find . -fprint /etc/passwd", Refused, `policy.exec.deny "> /etc/*"`},
		{deny, "find . -name x -fprint0 /etc/passwd", Refused, `policy.exec.deny "> /etc/*"`},
		{deny, "find . -fls /etc/passwd", Refused, `policy.exec.deny "> /etc/*"`},
		{only, "find . -fls out/list", Allowed, ""},
		{only, "find . -fls list", Refused, "policy.exec.allow"},
		{only, "find . -fprint /dev/stdout", Allowed, ""},
		{DefaultRules(), "find . -fprintf /dev/sda x", Refused, "policy.exec.destructive"},
		{deny, "jobs -x git push", Asked, "policy.exec.unclear"},
		{deny, "jobs -l", Allowed, ""},
		{DefaultRules(), "jobs -x rm -rf /", Refused, "policy.exec.destructive"},
		{deny, "fc -e ./x", Asked, "policy.exec.unclear"},
		{deny, "fc -s", Asked, "policy.exec.unclear"},
		{deny, "BASH_ALIASES[ls]='git push'\nls", Asked, ""},
		{deny, "BASH_CMDS[ls]=./x; ls", Asked, ""},
		{deny, "BASH_CMDS=([ls]=./x); ls", Asked, "policy.exec.unclear"},
		{deny, ": ${BASH_CMDS[ls]:=./x}; ls", Asked, "policy.exec.unclear"},
		{deny, ": ${PATH:=./x}; ls", Asked, "policy.exec.unclear"},
		{deny, "n=PATH; : ${!n:=./x}; ls", Asked, "policy.exec.unclear"},
		{deny, ": $((PATH=1)); ls", Asked, "policy.exec.unclear"},
		{deny, ": $((PATH+=1)); ls", Asked, "policy.exec.unclear"},
		{deny, ": $((PATH++)); ls", Asked, "policy.exec.unclear"},
		{deny, `readonly "PATH=./x"; ls`, Asked, "policy.exec.unclear"},
		{deny, `f() { local "$1"; ls; }; f PATH=./x`, Asked, "policy.exec.unclear"},
		{deny, "f() { local x=$1; ls $x; }; f a", Allowed, ""},
		{deny, ": $((n+=1)) $((n==1)); ls", Allowed, ""},
		{deny, "printf -v BASH_CMDS[ls] ./x; ls", Asked, "policy.exec.unclear"},
		{deny, `printf -v "$n" ./x; ls`, Asked, "policy.exec.unclear"},
		{deny, `printf -v x '\x24(git push)'; ls`, Asked, "policy.exec.unclear"},
		{deny, "printf '%s\\n' \"$x\"", Allowed, ""},
		{deny, "x='\\x'; echo \"${x@P}\"", Asked, "policy.exec.unclear"},
		{deny, `ls "${x:-"$\(git push)"}"`, Asked, "policy.exec.unclear"},
		{deny, `ls "${x:-"$""(git push)"}"`, Asked, "policy.exec.unclear"},
		{deny, `ls "${x:-"a b"}" "${x%.c}"`, Allowed, ""},
		{DefaultRules(), "printf -v x %s rm; $x -rf /", Refused, "policy.exec.destructive"},
		{DefaultRules(), "printf -vx rm; $x -rf /", Refused, "policy.exec.destructive"},
		{DefaultRules(), ": ${x:=rm}; $x -rf /", Refused, "policy.exec.destructive"},
		{deny, "ls 21>&1", Asked, "policy.exec.unclear"},
		{deny, "ls 2>&1", Allowed, ""},
		{deny, "ls\nin", Asked, "policy.exec.unclear"},
		{deny, "ls in", Allowed, ""},
		{deny, "bash -c '{git,,push}'", Refused, `policy.exec.deny "git push *"`},
		{deny, "[ -f x ] && ls", Allowed, ""},
		{deny, "x=1", Allowed, ""},
	} {
		j := c.rules.Judge(c.line)
		if j.Outcome != c.want || c.rule != "" && j.Rule != c.rule || (j.Reason == "") != (j.Rule == "") {
			t.Errorf("%q: %+v, want %d by %s", c.line, j, c.want, c.rule)
		}
	}
}

func TestEmptyPatternIsAFault(t *testing.T) {
	t.Parallel()
	if err := (Rules{Ask: []string{"ls", " "}}).Validate(); err == nil || !strings.HasPrefix(err.Error(), "ask[1]: ") {
		t.Error(err)
	}
	if err := (Rules{Deny: []string{"git push *"}, Allow: []string{"*"}}).Validate(); err != nil {
		t.Error(err)
	}
}

// What is made to be expensive is judged all the same, and what cannot be read of it is not allowed.
func TestJudgingEnds(t *testing.T) {
	t.Parallel()
	for unit, want := range map[string]Outcome{
		"$(": Asked, "{a,b}": Asked, "{1..99999}": Asked, "env ": Refused, "find -exec ": Refused, "eval ": Refused, "((": Asked, "`\\": Asked, "${x:-": Asked, "su 'a b' ": Refused,
		"x=$x$x;": Allowed, "rm ": Allowed, "<<E\n": Asked, "sh -c '": Asked, "if ": Asked, "echo x|": Asked, "# \\\n": Refused, "$(a ''#": Asked, "a ''#\\\n": Allowed, "$(a ''#\n)": Refused, "{\n": Asked, "sh -c '# \\\n": Asked,
	} {
		judged := make(chan Judgement, 1)
		go func() {
			judged <- Rules{Deny: []string{"git push *"}, Allow: []string{"*"}}.Judge(strings.Repeat(unit, 20<<10/len(unit)))
		}()
		select {
		case j := <-judged:
			if j.Outcome != want {
				t.Errorf("%q again and again: %+v, want %d", unit, j, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q again and again is still judged", unit)
		}
	}
}

// No line makes it panic, and what the parser does not understand is never allowed.
func FuzzJudgeAllowsNothingUnread(f *testing.F) {
	for _, line := range []string{"ls", "a | b; c && d", "f() { g; }", "x=$(y)", "{a,b}", "cat <<E\nE", "$'\\x41'", "case x in y) z;; esac", "[[ a == b ]]", "((x++))", "a[1]=2", "ls \\", "'", "`", "${", "$((", "<(", "\x00", "\xff", "a # \\\nb", "$(a \"\"#; b\n)"} {
		f.Add(line)
	}
	rules := Rules{Deny: []string{"git push *"}, Allow: []string{"*"}}
	f.Fuzz(func(t *testing.T, line string) {
		j := rules.Judge(line)
		if j.Outcome == Allowed && !readable(Runs(line)) {
			t.Errorf("%q is allowed: %+v", line, j)
		}
		if rules.Judge("git push\n"+line).Outcome == Allowed {
			t.Errorf("%q hides what comes before it", line)
		}
	})
}

// readable says that both shells understand a line.
func readable(line string) bool {
	for _, dialect := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
		if _, err := syntax.NewParser(syntax.Variant(dialect)).Parse(strings.NewReader(line), ""); err != nil {
			return false
		}
	}
	return true
}

// Where /bin/sh is bash, a calculation runs what a variable holds.
func TestCalculationsAskWhereTheShellIsBash(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`x='y[$'; z='Q(touch RAN)]'; w=$x${z#Q}; echo $((w))`, `[ -v "a[i]" ]`, `test -v "a[i]"`} {
		for shell, want := range map[syntax.LangVariant]Outcome{syntax.LangBash: Asked, syntax.LangPOSIX: Allowed} {
			if got := (Rules{Allow: []string{"echo *", "[ *", "test *"}}).judgeFor(shell, line); got.Outcome != want {
				t.Errorf("%s on %v: %+v", line, shell, got)
			}
		}
	}
}
