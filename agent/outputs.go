package agent

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
)

// Commands read what earlier tasks brought from this file in the workspace.
const (
	outputsFolder = ".switchboard"
	outputsFile   = "outputs.json"
)

// An earlier task is one whose output later tasks may use.
type earlier struct {
	Attempt int       `json:"attempt"` // from 1
	Task    int       `json:"task"`    // from 1
	Type    TaskType  `json:"type"`
	Detail  string    `json:"detail"`
	State   TaskState `json:"state"`
	Output  string    `json:"output"`
	row     TaskRow
}

// earlierTasks are the tasks of the plan before position that have an output, and
// before them what earlier attempts did well or said.
func (r *run) earlierTasks(attempt, position int) []earlier {
	var all []earlier
	for _, plan := range r.state.Plans {
		for _, task := range plan.Tasks {
			passed := task.Review != nil && task.Review.Status == "ok" || task.Type == TaskMsg && task.State == TaskDone
			before := plan.Attempt < attempt && passed || plan.Attempt == attempt && task.Position < position
			if !before || task.State == TaskPending {
				continue
			}
			e := earlier{
				Attempt: plan.Attempt + 1, Task: task.Position + 1, Type: task.Type,
				Detail: task.Detail, State: task.State, row: task,
			}
			switch {
			case task.Type == TaskMsg:
				e.Output = r.said(plan.Attempt, task.Position)
			case task.Result != nil:
				e.Output = task.Result.Output
			}
			all = append(all, e)
		}
	}
	return all
}

// said is the text of a msg task that was written.
func (r *run) said(attempt, position int) string {
	for _, say := range r.state.Said {
		if say.Attempt == attempt && say.Position == position {
			return say.Text
		}
	}
	return ""
}

// writeOutputs gives a command the outputs of earlier tasks. Commands may write to
// the workspace, so nothing in it is trusted: os.Root keeps links from leading
// outside, and a new file replaces whatever stands in its place.
func (r *run) writeOutputs(plan *PlanRow, position int) error {
	list := r.earlierTasks(plan.Attempt, position)
	if list == nil {
		list = []earlier{}
	}
	body, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("encode outputs: %w", err)
	}
	root, err := os.OpenRoot(r.turn.Workspace)
	if err != nil {
		return fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close() //nolint:errcheck // nothing was written through the handle itself
	if info, err := root.Lstat(outputsFolder); err == nil && !info.IsDir() {
		if err := root.Remove(outputsFolder); err != nil {
			return fmt.Errorf("make room for %s: %w", outputsFolder, err)
		}
	}
	if err := root.MkdirAll(outputsFolder, 0o700); err != nil {
		return fmt.Errorf("make %s: %w", outputsFolder, err)
	}
	name := path.Join(outputsFolder, outputsFile)
	fresh := name + "." + rand.Text()
	file, err := root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = file.Write(append(body, '\n'))
	if err = errors.Join(err, file.Close()); err == nil {
		err = root.Rename(fresh, name)
	}
	if err != nil {
		_ = root.Remove(fresh)
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
