package vault_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"switchboard/internal/secrets"
	"switchboard/internal/secrets/vault"
)

const value = secrets.Secret("hunter2-of-the-vault")

func TestSecretsAreOpenedWithTheKeyOfTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sealed := make([][]byte, 8)
	var all sync.WaitGroup
	for i := range sealed { // engines that begin at once
		all.Go(func() {
			var err error
			if sealed[i], err = vault.New(dir, "", nil).Seal(value); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, s := range sealed {
		if got, err := vault.New(dir, "", nil).Open(s); err != nil || got != value {
			t.Errorf("%v, %v", got, err)
		}
		if strings.Contains(string(s), "hunter2") {
			t.Error("it stands there plainly")
		}
	}
	files, _ := os.ReadDir(dir)
	info, err := os.Stat(filepath.Join(dir, "secret.key"))
	if err != nil || len(files) != 1 || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v: %v", files, info, err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := vault.New(t.TempDir(), string(key), nil).Open(sealed[0]); err != nil || got != value {
		t.Errorf("with the key of the environment: %v, %v", got, err)
	}
}

func TestKeyThatCannotBeUsedSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "secret.key")
	v := vault.New(dir, "", nil)
	sealed, err := v.Seal(value)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wants := func(what string, err error, words ...string) {
		t.Helper()
		for _, word := range append(words, "again") {
			if err == nil || !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), "AGE-SECRET-KEY-1Q") {
				t.Errorf("%s: %v, without %q", what, err, word)
			}
		}
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	_, err = v.Open(sealed)
	wants("open to others", err, "chmod 600 "+path)
	_, err = v.Seal(value)
	wants("open to others", err, "chmod 600 "+path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err = v.Open(sealed)
	wants("lost", err, "not there", path, vault.Variable)
	if _, err := v.Seal(value); err != nil {
		t.Fatal(err)
	}
	_, err = v.Open(sealed)
	wants("another one", err, "another key", path)
	garbled := []byte(strings.TrimSpace(string(key)))
	garbled[len(garbled)-1] ^= 1 // another letter, or no letter at all
	_, err = vault.New(dir, string(garbled), nil).Open(sealed)
	wants("garbled", err, vault.Variable+" holds no key")
	_, err = vault.New(dir, string(key), nil).Open(sealed[:len(sealed)-3])
	wants("cut off", err, "damaged")
	if _, err := v.Seal("short"); err == nil {
		t.Error("a short one was taken")
	}
}

func TestSecretsAreLookedUpAsTheyAreNow(t *testing.T) {
	t.Parallel()
	mask := secrets.NewMasker()
	v := vault.New(t.TempDir(), "", mask)
	seal := func(value secrets.Secret) []byte {
		sealed, err := v.Seal(value)
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	if _, err := v.Look("a"); !errors.Is(err, secrets.ErrUnknown) {
		t.Errorf("%v", err)
	}
	first, b := seal("first-value"), seal("value-of-b")
	for _, step := range []struct {
		kept    map[string][]byte
		changed string
		value   secrets.Secret
	}{
		{map[string][]byte{"a": first, "b": b}, "a b", "first-value"},
		{map[string][]byte{"a": first, "b": b}, "", "first-value"},
		{map[string][]byte{"a": seal("second-value"), "b": b}, "a", "second-value"},
		{map[string][]byte{"b": b}, "a", ""},
	} {
		changed := v.Keep(step.kept)
		slices.Sort(changed)
		value, err := v.Look("a")
		if strings.Join(changed, " ") != step.changed || value != step.value || (value == "") != errors.Is(err, secrets.ErrUnknown) {
			t.Errorf("%q changed, %q, %v; want %+v", changed, value.Reveal(), err, step)
		}
	}
	if got := mask.Text("first-value second-value"); got != "[redacted] [redacted]" {
		t.Errorf("%q", got)
	}
}

// A secret that nothing uses is no less one: whoever types it has it hidden.
func TestSecretsAreHiddenBeforeTheyAreUsed(t *testing.T) {
	t.Parallel()
	dir, mask := t.TempDir(), secrets.NewMasker()
	sealed, err := vault.New(dir, "", nil).Seal(value)
	if err != nil {
		t.Fatal(err)
	}
	vault.New(dir, "", mask).Keep(map[string][]byte{"one": sealed, "damaged": []byte("x")})
	if got := mask.Text("it is " + value.Reveal()); got != "it is [redacted]" {
		t.Errorf("%q", got)
	}
}
