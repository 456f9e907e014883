package configs

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Sample is the complete, commented settings file. As it is it loads to exactly
// Defaults; lines that begin with "#" and no space are examples.
//
//go:embed switchboard.toml
var Sample string

// ErrExists is returned by Init when there is a settings file already.
var ErrExists = errors.New("there is a settings file already")

// Answers are what `init` asks for; what is empty stays as in Sample.
type Answers struct {
	TimeZone string // IANA name
	// APIKey of the default provider: the key itself, "env:NAME" or "file:PATH".
	APIKey string
	// Planner is the model to plan with, "provider/model".
	Planner string
	// Admin is the first admin's name, Identity how a platform knows them
	// ("kind:id").
	Admin, Identity string
}

// Init writes Sample with the answers filled in to path, readable by its owner
// alone, making the folder where it is missing. A file that exists is left alone:
// ErrExists.
func Init(path string, a Answers) error {
	text := Sample
	q := quote
	if a.TimeZone != "" {
		text = replace(text, `timezone = "UTC"`, "timezone = "+q(a.TimeZone))
	}
	if a.APIKey != "" {
		text = replace(text, "#api_key = "+q(openRouterKey), "api_key = "+q(a.APIKey))
	}
	if a.Planner != "" {
		text = replace(text, `planner = "offline"`, "planner = "+q(a.Planner))
	}
	if a.Admin != "" {
		identities, zone := "identities = []", ""
		if a.Identity != "" {
			identities = "identities = [" + q(a.Identity) + "]"
		}
		if a.TimeZone != "" {
			zone = "timezone = " + q(a.TimeZone) + "\n"
		}
		begin := strings.Index(text, "#[[people]]")
		end := begin + strings.Index(text[begin:], "\n\n") + 1
		text = text[:begin] + "[[people]]\nname = " + q(a.Admin) + "\nrole = \"admin\"\n" +
			identities + "\ntools = [\"*\"]\n" + zone + text[end:]
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder for settings: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w; edit it, or move it away first", path, ErrExists)
	}
	if err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	return nil
}

// replace changes the one line of Sample that is old.
func replace(text, old, line string) string {
	return strings.Replace(text, "\n"+old+"\n", "\n"+line+"\n", 1)
}
