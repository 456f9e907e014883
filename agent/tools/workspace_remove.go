package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	"switchboard/agent/tools/workspace"
)

var removeSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "a file, or a folder with all that is in it; relative to the workspace, with slashes"}
	},
	"required": ["path"],
	"additionalProperties": false
}`)

// remove removes a file, a link, or a folder with all that is in it.
func (w files) remove(ctx context.Context, call Call, args struct{ Path string }) Result {
	name, fault := cleanPath(args.Path)
	if fault != nil {
		return *fault
	}
	if name == "." {
		return refused("bad_path", "name a file or a folder", "the path names the workspace itself")
	}
	root, _, fault := enter(call.Workspace, path.Dir(name))
	if fault != nil {
		return *fault
	}
	defer root.Close()
	if _, err := root.Lstat(name); err != nil {
		return ioFault(name, err)
	}
	if err := workspace.Discard(root, name); err != nil {
		return ioFault(name, err)
	}
	err := changeLedger(context.WithoutCancel(ctx), call.Workspace, func(l ledger) {
		for entry := range l {
			if entry == name || within(entry, name) {
				delete(l, entry)
			}
		}
	})
	if err != nil {
		return ioFault(name, err)
	}
	return Result{End: EndOK, Output: fmt.Sprintf("removed %s\n", name)}
}
